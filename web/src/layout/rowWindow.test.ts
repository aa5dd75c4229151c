import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rowAt, rowOffsets } from "./rowWindow";

describe("rows in view", () => {
  it("begin where the ones before them end", () => {
    expect(rowOffsets([28, 30, 30])).toEqual([0, 28, 58, 88]);
    expect(rowOffsets([])).toEqual([0]);
  });

  it("are found by where they are, at any height", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
        fc.nat(4000),
        (heights, top) => {
          const starts = rowOffsets(heights);
          const found = rowAt(starts, top);
          const plain = starts.slice(0, -1).findLastIndex((start) => start <= top);
          expect(found).toBe(plain);
        },
      ),
    );
  });

  it("are the first where there is none, or above the list", () => {
    expect(rowAt(rowOffsets([]), 100)).toBe(0);
    expect(rowAt(rowOffsets([30, 30]), -20)).toBe(0);
  });
});
