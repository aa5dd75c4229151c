import fc from "fast-check";
import { expect, test } from "vitest";
import { equalRows, Heights } from "./heights";

const lines = (ids: string[]) => ids.map((id) => ({ id }));

test("places of lines are the sums of what is above them, whatever is appended, prepended, taken away and measured", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("append" as const), count: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ do: fc.constant("prepend" as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ do: fc.constant("drop" as const), at: fc.nat() }),
    fc.record({ do: fc.constant("measure" as const), at: fc.nat(), size: fc.integer({ min: 0, max: 999 }) }),
    fc.record({ do: fc.constant("look" as const), at: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const heights = new Heights((line) => line.id.length * 10);
      const sizes = new Map<string, number>();
      let ids: string[] = [];
      let made = 0;
      for (const each of steps) {
        if (each.do === "append") for (let i = 0; i < each.count; i += 1) ids = [...ids, `a${made++}`];
        if (each.do === "prepend") for (let i = 0; i < each.count; i += 1) ids = [`p${made++}`, ...ids];
        if (each.do === "drop" && ids.length > 0) ids = ids.filter((_, at) => at !== each.at % ids.length);
        heights.setLines(lines(ids));
        if (each.do === "measure" && ids.length > 0) {
          const index = each.at % ids.length;
          heights.measure(index, each.size);
          sizes.set(ids[index] as string, each.size);
        }
        if (each.do === "look" && ids.length > 0) heights.top(each.at % ids.length);
      }
      let top = 0;
      ids.forEach((id, index) => {
        expect(heights.top(index)).toBe(top);
        const size = sizes.get(id) ?? id.length * 10;
        if (size > 0) expect(heights.indexAt(top)).toBe(index);
        if (size > 1) expect(heights.indexAt(top + size - 1)).toBe(index);
        top += size;
      });
      expect(heights.total()).toBe(top);
      expect(heights.indexAt(-5)).toBe(0);
      expect(heights.indexAt(top + 1000)).toBe(Math.max(0, ids.length - 1));
    }),
    { numRuns: 60 },
  );
});

test("what was measured on an earlier visit is known on the next", () => {
  const measured = new Map<string, number>();
  const first = new Heights(() => 10, measured);
  first.setLines(lines(["a", "b"]));
  first.measure(1, 55);
  const second = new Heights(() => 10, measured);
  second.setLines(lines(["a", "b", "c"]));
  expect(second.total()).toBe(10 + 55 + 10);
});

test("rows of one height are where lines of that height are", () => {
  fc.assert(
    fc.property(
      fc.nat(60),
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: -100, max: 4000 }),
      (count, height, offset) => {
        const rows = equalRows(count, height);
        const heights = new Heights(() => height);
        heights.setLines(lines(Array.from({ length: count }, (_, index) => `l${index}`)));
        expect(rows.indexAt(offset)).toBe(heights.indexAt(offset));
        for (let index = 0; index <= count + 1; index += 1) expect(rows.top(index)).toBe(heights.top(index));
      },
    ),
  );
});
