import { beforeEach, describe, expect, it } from "vitest";
import { extendSelection, selectTo, stepFrom, useSelection } from "./selection";

const IDS = ["a", "b", "c", "d"];
const chosen = () => [...useSelection.getState().chosen].sort();

beforeEach(() => useSelection.setState({ cursor: "", chosen: new Set() }));

describe("walking", () => {
  it("stays at the ends, and begins at one of them from nowhere", () => {
    expect(stepFrom(IDS, "d", 1)).toBe("d");
    expect(stepFrom(IDS, "a", -1)).toBe("a");
    expect(stepFrom(IDS, "", 1)).toBe("a");
    expect(stepFrom(IDS, "gone", -1)).toBe("d");
    expect(stepFrom([], "", 1)).toBe("");
  });
});

describe("taking along", () => {
  it("takes what is left and what is come to; going back gives the last one up", () => {
    extendSelection(IDS, 1, "b");
    expect(chosen()).toEqual(["b", "c"]);
    extendSelection(IDS, 1, useSelection.getState().cursor);
    expect(chosen()).toEqual(["b", "c", "d"]);
    extendSelection(IDS, -1, useSelection.getState().cursor);
    expect(chosen()).toEqual(["b", "c"]);
    expect(useSelection.getState().cursor).toBe("c");
  });

  it("takes all between two, in either direction", () => {
    selectTo(IDS, "c", "a");
    expect(chosen()).toEqual(["a", "b", "c"]);
    selectTo(IDS, "gone", "b");
    expect(chosen()).toEqual(["a", "b"]);
  });
});
