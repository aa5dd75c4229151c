import { expect, test } from "vitest";
import type { BackgroundView } from "@/api/types";
import { backgroundStyle } from "@/ui/backgroundStyle";
import { backgroundList, kindOf } from "./backgroundList";

function item(id: string, more: Partial<BackgroundView> = {}): BackgroundView {
  return {
    id,
    kind: "command",
    title: id,
    state: "running",
    call_id: "c",
    started_at: 1,
    ...more,
  } as BackgroundView;
}

test("what runs comes first, in the order it began; what ended follows, the last one first", () => {
  const all = [
    item("old", { state: "completed", ended_at: 5 }),
    item("second", { started_at: 3 }),
    item("new", { state: "failed", ended_at: 9 }),
    item("first", { started_at: 2 }),
    item("paused", { state: "paused", kind: "agent", started_at: 4 }),
  ];
  expect(backgroundList(all).map((each) => each.id)).toEqual(["first", "second", "paused", "new", "old"]);
});

test("an agent that its call waits for is not in the background", () => {
  expect(backgroundList([item("a", { is_awaited: true })])).toEqual([]);
});

test("states are said in words, with the exit code of a command", () => {
  expect(backgroundStyle(item("a", { state: "failed", code: 2 })).word).toBe("failed with exit code 2");
  expect(backgroundStyle(item("a", { state: "killed" })).word).toBe("stopped");
  expect(backgroundStyle(item("a", { state: "lost" })).word).toContain("lost");
});

test("what it is names the sub-agent that started it", () => {
  const agent = item("x_1", { kind: "agent", agent_type: "Explore" });
  expect(kindOf(agent, [agent])).toBe("Explore");
  expect(kindOf(item("b", { agent: "x_1" }), [agent])).toBe("Command, started by Explore");
});
