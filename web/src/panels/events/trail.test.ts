// @vitest-environment node
import { expect, test } from "vitest";
import type { TaskRow } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { summary } from "./filter";
import { pageState, tableState } from "./trail";

const AT = 1_767_323_045_678;
const tasks = [
  { content: "Read", status: "completed" },
  { content: "Fix", status: "pending" },
];
const list = { seq: 7, at: AT, event: { type: "tasks_replaced", tasks } } as unknown as Entry;
const row = (source: string, at: number) => ({ source, updated_at: at / 1000 }) as TaskRow;

test("a list of tasks is followed from the log to the page (S002-17)", () => {
  expect(pageState(list, 0)).toBe("not shown yet");
  expect(pageState(list, AT)).toBe("shown");
  expect(pageState(list, AT + 5_000)).toBe("replaced by a later list");
});

test("a list of tasks is followed from the log to the server's table (S002-17)", () => {
  const mine = row("user", AT);
  expect(tableState(list, [mine])).toEqual({ text: "no rows", behind: true });
  expect(tableState(list, [row("sdk", AT - 9_000), mine])).toEqual({
    text: "not written yet",
    behind: true,
  });
  expect(tableState(list, [row("sdk", AT + 0.4), row("sdk", AT + 0.4), mine])).toEqual({
    text: "written, 2 rows",
    behind: false,
  });
  expect(tableState(list, [row("sdk", AT + 9_000)]).text).toBe("replaced by a later list");
});

test("a list that an empty one has replaced is not waited for", () => {
  expect(tableState(list, [], AT + 5_000)).toEqual({ text: "replaced by a later list", behind: false });
  expect(tableState(list, [], AT)).toEqual({ text: "no rows", behind: true });
});

test("an empty list that has no rows is not waited for", () => {
  const empty = { ...list, event: { type: "tasks_replaced", tasks: [] } } as unknown as Entry;
  expect(tableState(empty, [])).toEqual({ text: "no rows", behind: false });
});

test("hooks that ran and lists of tasks are told from others in one line (S002-17)", () => {
  expect(summary(list)).toBe("1 of 2 done");
  const hook = { type: "hook_ran", hook: "PostToolUse:TodoWrite", event: "PostToolUse", outcome: "none" };
  expect(summary({ seq: 8, at: AT, event: hook } as unknown as Entry)).toBe("PostToolUse:TodoWrite · none");
  const slow = { ...hook, outcome: "deny", duration_ms: 12, text: "no" };
  expect(summary({ seq: 9, at: AT, event: slow } as unknown as Entry)).toBe(
    "PostToolUse:TodoWrite · deny · 12 ms · no",
  );
});
