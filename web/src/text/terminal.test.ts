import { expect, test } from "vitest";
import { plainText, stripEscapes } from "./terminal";

test.each([
  ["words\tand\nlines", "words\tand\nlines"],
  ["\u001b[31mred\u001b[0m", "\u001b[31mred\u001b[0m"],
  ["10%\r20%\r100%\ndone\r\n", "100%\ndone\n"],
  ["\u001b]0;a title\u0007text", "text"],
  ["\u001b]52;c;c3RvbGVu\u001b\\text", "text"],
  ["\u001b]8;;https://evil.example\u001b\\click\u001b]8;;\u001b\\", "click"],
  ["\u001b]never ends\nnext line", "\nnext line"],
  ["a\u001b[2Kb\u001b[1;1Hc\u001b[?25l", "abc"],
  ["b\bbo\bol\bld\bd", "bold"],
  ["nul\u0000bell\u0007c1\u009b", "nulbellc1"],
  ["cut \u001b", "cut "],
  ["日本語 ✓", "日本語 ✓"],
])("of %j a terminal shows %j", (printed, shown) => {
  expect(stripEscapes(printed)).toBe(shown);
});

test("copying gives words without colours", () => {
  expect(plainText("\u001b[1;31mE\u001b[0m  assert\u001b[38;5;12m 1\u001b[m")).toBe("E  assert 1");
});
