import { expect, test } from "vitest";
import { joined, LEFT_OUT } from "./whole";

const TEXT = "abcdefghijklmnopqrstuvwxyz";
const CUT = `${TEXT.slice(0, 6)}\n… 18 characters left out …\n${TEXT.slice(-2)}`;
const left = LEFT_OUT.exec(CUT) as RegExpExecArray;

test("what was heard does not get shorter at its end, also where its last piece came with the whole only", () => {
  expect(joined(CUT, left, TEXT)).toBe(TEXT);
  expect(joined(CUT, left, TEXT.slice(0, 24))).toBe(TEXT);
});

test("with a piece missing, or of something else, it is not taken for the whole", () => {
  expect(joined(CUT, left, TEXT.slice(0, 23))).toBe("");
  expect(joined(CUT, left, `x${TEXT.slice(1)}`)).toBe("");
});
