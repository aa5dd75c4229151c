/** Nothing hides: every character nobody would see is named, however often one looks (FM-38). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { hasHidden, pieces } from "./hidden";

it("pieces joined are the text, and each hidden character is a piece of its own", () => {
  const sly = fc.string({
    unit: fc.constantFrom("a", "\u202e", "\u200b", "\u0000", "\u00a0", "\n", "\u{e0041}", "é"),
  });
  fc.assert(
    fc.property(fc.oneof(sly, fc.string({ unit: "binary" })), (text) => {
      const found = pieces(text);
      expect(found.map((piece) => piece.text).join("")).toBe(text);
      expect(found.some((piece) => piece.hidden)).toBe(hasHidden(text));
      for (const piece of found) if (!piece.hidden) expect(hasHidden(piece.text)).toBe(false);
    }),
  );
});

it("looking whether there are any does not make the next look begin later", () => {
  expect(hasHidden("abc\u202edef")).toBe(true);
  expect(pieces("\u202eabc")[0]).toEqual({ text: "\u202e", hidden: "RLO" });
});
