import { describe, expect, it } from "vitest";
import type { Spent } from "@/api/types";
import { everyDay, firstDay, scaleOf } from "./days";

const now = Date.parse("2026-03-02T10:00:00Z");

describe("days of usage", () => {
  it("have no holes and end today", () => {
    const days = everyDay([{ key: "2026-03-01", cost: 2 } as Spent], 3, now);
    expect(days.map((each) => [each.key, each.cost])).toEqual([
      ["2026-02-28", 0],
      ["2026-03-01", 2],
      ["2026-03-02", 0],
    ]);
    expect(firstDay(3, now)).toBe("2026-02-28");
  });
});

describe("a scale", () => {
  it("goes to a round number that covers all", () => {
    expect(scaleOf(0)).toEqual([0]);
    expect(scaleOf(10)).toEqual([0, 2.5, 5, 7.5, 10]);
    expect(scaleOf(0.37)).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
    expect(scaleOf(123_456).at(-1)).toBeGreaterThanOrEqual(123_456);
    for (const most of [0.001, 0.9, 3, 7, 42, 99, 1234, 5e7]) {
      const marks = scaleOf(most);
      expect(marks.at(-1)).toBeGreaterThanOrEqual(most);
      expect(marks.length).toBeLessThanOrEqual(6);
    }
  });
});
