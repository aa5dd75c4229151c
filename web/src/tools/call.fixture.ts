/** Calls for tests and for looking at views. */
import { COMPLETE } from "@/state/cuts";
import type { ToolRow } from "@/state/rows";

export function call(name: string, change: Partial<ToolRow> = {}): ToolRow {
  const status = change.status ?? "completed";
  return {
    id: "call-1",
    seq: 7,
    entry: "entry-1",
    at: 0,
    turn: 1,
    parentCall: "",
    agent: "",
    kind: "tool",
    name,
    input: {},
    writing: "",
    status,
    output: "",
    images: [],
    display: null,
    tail: "",
    printed: 0,
    startedAt: 0,
    durationMs: 0,
    decided: null,
    added: 0,
    removed: 0,
    interaction: null,
    malformed: "",
    missing: { input: COMPLETE, output: COMPLETE, display: COMPLETE },
    settled: status === "running" || status === "pending" || status === "writing" ? "" : status,
    ...change,
  };
}
