import { describe, expect, it } from "vitest";
import { piecesOf } from "./marks";

describe("an excerpt with marks", () => {
  it("is cut where the marks are", () => {
    expect(piecesOf("the cart test", [[4, 8]])).toEqual([
      { text: "the ", marked: false },
      { text: "cart", marked: true },
      { text: " test", marked: false },
    ]);
  });

  it("counts characters, not halves of them", () => {
    expect(piecesOf("😀 cart", [[2, 6]]).find((piece) => piece.marked)?.text).toBe("cart");
  });

  it("holds for marks that overlap, are in disorder, or lie beyond the end", () => {
    const pieces = piecesOf("abcdef", [
      [4, 99],
      [0, 2],
      [1, 3],
    ]);
    expect(pieces.map((piece) => piece.text).join("")).toBe("abcdef");
    expect(pieces.filter((piece) => piece.marked).map((piece) => piece.text)).toEqual(["ab", "c", "ef"]);
    expect(piecesOf("", [[0, 1]])).toEqual([]);
  });
});
