/** Nothing hides: every character nobody would see is named, however often one looks (FM-38). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { hasInvisible, splitInvisible } from "./invisible";

it("pieces joined are the text, and each hidden character is a piece of its own", () => {
  const sly = fc.string({
    unit: fc.constantFrom("a", "\u202e", "\u200b", "\u0000", "\u00a0", "\n", "\u{e0041}", "é"),
  });
  fc.assert(
    fc.property(fc.oneof(sly, fc.string({ unit: "binary" })), (text) => {
      const found = splitInvisible(text);
      expect(found.map((piece) => piece.text).join("")).toBe(text);
      expect(found.some((piece) => piece.name)).toBe(hasInvisible(text));
      for (const piece of found) if (!piece.name) expect(hasInvisible(piece.text)).toBe(false);
    }),
  );
});

it("looking whether there are any does not make the next look begin later", () => {
  expect(hasInvisible("abc\u202edef")).toBe(true);
  expect(splitInvisible("\u202eabc")[0]).toEqual({ text: "\u202e", name: "RLO" });
});
