/** Applies the entries of a tool call to its row: called, started, done. */
import type { Block } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { COMPLETE, missingOf } from "./cuts";
import type { Fold } from "./fold";
import { contentOf, type EventOf, rowBase } from "./rowBase";
import type { ToolRow, ToolStatus } from "./rows";
import { isOver } from "./rows";

const NOTHING: ToolRow["missing"] = { input: COMPLETE, output: COMPLETE, display: COMPLETE };

export function toolCalled(fold: Fold, entry: Entry, call: Extract<Block, { type: "tool_call" }>): void {
  const held = fold.tool(call.id);
  const status: ToolStatus = held?.settled || (held?.status === "running" ? "running" : "pending");
  const { name, input, malformed = "" } = call;
  if (!entry.parentCall) fold.turn.tools += 1;
  fold.open.delete(call.id);
  fold.put({
    ...(held ?? emptyToolRow(fold, entry, call.id)),
    ...rowBase(fold, entry, call.id),
    name,
    input,
    malformed,
    writing: "",
    status,
    missing: { ...(held?.missing ?? NOTHING), input: missingOf(entry.event, entry.cuts, "block", "input") },
  });
}

export function emptyToolRow(fold: Fold, entry: Entry, id: string): ToolRow {
  return {
    ...rowBase(fold, entry, id),
    kind: "tool",
    name: "",
    input: {},
    writing: "",
    status: "pending",
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
    settled: "",
    missing: NOTHING,
  };
}

export function toolStarted(fold: Fold, entry: Entry, event: EventOf<"tool_started">): void {
  const row = fold.tool(event.call_id);
  if (!row || isOver(row.status)) return;
  const missing = { ...row.missing, input: missingOf(entry.event, entry.cuts, "input") };
  fold.put({ ...row, status: "running", input: event.input, startedAt: entry.at, missing });
}

/** The latest result of a call replaces any earlier one. */
export function toolDone(fold: Fold, entry: Entry, event: EventOf<"tool_done">): void {
  const { reply } = event;
  const { cuts } = entry;
  const row = fold.tool(reply.call_id);
  const { text, images } = contentOf(reply.content);
  const failed = reply.is_error ? "error" : "completed";
  const status: ToolStatus = event.denied ? "denied" : event.interrupted ? "interrupted" : failed;
  const called = row !== undefined && row.status !== "no_call";
  fold.put({
    ...(row ?? emptyToolRow(fold, entry, reply.call_id)),
    name: row?.name || event.name || "",
    input: event.input ?? row?.input ?? {},
    status: called ? status : "no_call",
    settled: status,
    output: text,
    images,
    display: event.display ?? null,
    durationMs: event.duration_ms ?? 0,
    decided: event.decided ?? null,
    added: event.lines_added ?? 0,
    removed: event.lines_removed ?? 0,
    tail: "",
    missing: {
      input: event.input ? missingOf(entry.event, cuts, "input") : (row?.missing.input ?? COMPLETE),
      output: missingOf(entry.event, cuts, "reply"),
      display: missingOf(entry.event, cuts, "display"),
    },
  });
}

export function interruptTool(fold: Fold, id: string): void {
  const row = fold.tool(id);
  if (row && !isOver(row.status)) fold.put({ ...row, status: "interrupted", tail: "" });
}
