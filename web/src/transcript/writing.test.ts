import fc from "fast-check";
import { expect, test } from "vitest";
import { inputSoFar, lastLines, longestText } from "./writing";

test("of an input that is being written, what has come is known", () => {
  expect(inputSoFar('{"command": "pytest -q te')).toEqual({ command: "pytest -q te" });
  expect(inputSoFar('{"file_path": "a.py", "content": "line\\n\\u00e4 \\')).toEqual({
    file_path: "a.py",
    content: "line\nä ",
  });
  expect(inputSoFar('{"a": 1, "b')).toEqual({ a: 1 });
  expect(inputSoFar('{"a": 1, "b":')).toEqual({ a: 1 });
  expect(inputSoFar('{"todos": [{"content": "x')).toEqual({ todos: [{ content: "x" }] });
  expect(inputSoFar("")).toEqual({});
  expect(inputSoFar("no json")).toEqual({});
});

test("no beginning of any input is too strange", () => {
  const input = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(input, fc.nat(), (given, cut) => {
      const text = JSON.stringify(given);
      expect(inputSoFar(text)).toEqual(JSON.parse(text));
      expect(() => inputSoFar(text.slice(0, cut % (text.length + 1)))).not.toThrow();
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
