import { describe, expect, it } from "vitest";
import type { TaskRow } from "@/api/types";
import { moved, ordered } from "./order";

const task = (id: string, sort_order: number): TaskRow => ({ id, sort_order, updated_at: 0 }) as TaskRow;
const orderAfter = (tasks: TaskRow[], changed: TaskRow[]) =>
  ordered(tasks.map((each) => changed.find((one) => one.id === each.id) ?? each)).map((each) => each.id);

describe("the order of tasks", () => {
  const tasks = [task("b", 1), task("a", 0), task("c", 2)];

  it("is by their numbers", () => {
    expect(ordered(tasks).map((each) => each.id)).toEqual(["a", "b", "c"]);
  });

  it("changes only the numbers that must change", () => {
    const changed = moved(tasks, "c", 1);
    expect(changed.map((each) => each.id)).toEqual(["c", "b"]);
    expect(orderAfter(tasks, changed)).toEqual(["a", "c", "b"]);
  });

  it("does not change beyond its ends, for no task, or for the same place", () => {
    for (const to of [-1, 3, 2]) expect(moved(tasks, "c", to)).toEqual([]);
    expect(moved(tasks, "gone", 0)).toEqual([]);
  });

  it("holds where all numbers were the same", () => {
    const same = [task("a", 7), task("b", 7), task("c", 7)];
    expect(orderAfter(same, moved(same, "c", 0))).toEqual(["c", "a", "b"]);
  });
});
