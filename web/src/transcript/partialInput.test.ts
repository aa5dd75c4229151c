import fc from "fast-check";
import { expect, test } from "vitest";
import { lastLines, longestText, parsePartialInput } from "./partialInput";

test("of an input that is being written, what has come is known", () => {
  expect(parsePartialInput('{"command": "pytest -q te')).toEqual({ command: "pytest -q te" });
  expect(parsePartialInput('{"file_path": "a.py", "content": "line\\n\\u00e4 \\')).toEqual({
    file_path: "a.py",
    content: "line\nä ",
  });
  expect(parsePartialInput('{"a": 1, "b')).toEqual({ a: 1 });
  expect(parsePartialInput('{"a": 1, "b":')).toEqual({ a: 1 });
  expect(parsePartialInput('{"todos": [{"content": "x')).toEqual({ todos: [{ content: "x" }] });
  expect(parsePartialInput("")).toEqual({});
  expect(parsePartialInput("no json")).toEqual({});
});

test("no beginning of any input is too strange", () => {
  const input = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(input, fc.nat(), (given, cut) => {
      const text = JSON.stringify(given);
      expect(parsePartialInput(text)).toEqual(JSON.parse(text));
      expect(() => parsePartialInput(text.slice(0, cut % (text.length + 1)))).not.toThrow();
    }),
  );
});

test("the longest text is what people wait for", () => {
  expect(longestText({ path: "a.py", content: "much longer", count: 3 })).toBe("much longer");
  expect(longestText({})).toBe("");
});

test("the last lines of a text", () => {
  expect(lastLines("a\nb\nc\n", 2)).toBe("b\nc");
  expect(lastLines("a\nb", 5)).toBe("a\nb");
  expect(lastLines("", 3)).toBe("");
  expect(lastLines("\na\nb", 3)).toBe("\na\nb");
});
