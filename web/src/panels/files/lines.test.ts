import { describe, expect, it } from "vitest";
import { linesOf, piecesOf } from "./lines";

describe("the lines of a file", () => {
  it("end as lines end on any system", () => {
    expect(linesOf("a\r\nb\nc\rd")).toEqual(["a", "b", "c", "d"]);
    expect(linesOf("a\n")).toEqual(["a"]);
    expect(linesOf("a\n\n")).toEqual(["a", ""]);
    expect(linesOf("")).toEqual([]);
  });

  it("come in pieces that know where they stand", () => {
    const lines = Array.from({ length: 450 }, (_, index) => String(index + 1));
    expect(piecesOf(lines, 1000).map((piece) => [piece.first, piece.lines.length])).toEqual([
      [1, 200],
      [201, 200],
      [401, 50],
    ]);
    expect(piecesOf(lines, 250).at(-1)?.lines.at(-1)).toBe("250");
  });
});
