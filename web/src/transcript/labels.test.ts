import { expect, test } from "vitest";
import type { TurnRow } from "@/state/rows";
import { turnNumbers } from "./labels";

test("a turn counts its steps, and tells its own time apart from a person's", () => {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };
  const row = {
    steps: 10,
    tools: 0,
    durationMs: 12_000,
    waitedMs: 474_000,
    usage,
    cost: 0,
  } as unknown as TurnRow;
  expect(turnNumbers(row)).toEqual(["10 steps", "12.0s", "waited 7m 54s for you"]);
});
