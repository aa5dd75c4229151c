import { describe, expect, it } from "vitest";
import { popoverPosition } from "./popover";

const view = { width: 400, height: 300 };
const anchor = { left: 100, top: 100, width: 40, height: 20 };

describe("what hangs from something", () => {
  it("is at the side that is wanted", () => {
    expect(popoverPosition(anchor, { width: 60, height: 30 }, view, "below", "start")).toMatchObject({
      left: 100,
      top: 124,
    });
    expect(popoverPosition(anchor, { width: 60, height: 30 }, view, "above", "center")).toMatchObject({
      left: 90,
      top: 66,
    });
    expect(popoverPosition(anchor, { width: 60, height: 30 }, view, "below", "end").left).toBe(80);
  });

  it("is at the other side where there is no room", () => {
    const low = { ...anchor, top: 270 };
    expect(popoverPosition(low, { width: 60, height: 100 }, view, "below", "start").top).toBe(166);
    const high = { ...anchor, top: 4 };
    expect(popoverPosition(high, { width: 60, height: 30 }, view, "above", "start").top).toBe(28);
  });

  it("never leaves the window", () => {
    const right = { ...anchor, left: 380 };
    expect(popoverPosition(right, { width: 60, height: 30 }, view, "below", "start").left).toBe(332);
    expect(
      popoverPosition({ ...anchor, left: 0 }, { width: 60, height: 30 }, view, "below", "end").left,
    ).toBe(8);
    const tall = popoverPosition(anchor, { width: 60, height: 1000 }, view, "below", "start");
    expect(tall.top + tall.maxHeight).toBe(292);
  });
});
