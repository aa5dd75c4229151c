/** Applies streamed parts: text and output, until the stored entry replaces them. */
import { serverNow } from "@/format/serverClock";
import type { Entry, Part } from "@/stream/frames";
import type { Fold } from "./fold";
import { rowBase } from "./rowBase";
import type { Row, ToolRow } from "./rows";
import { isOver } from "./rows";
import { emptyToolRow } from "./toolCalls";

/** Characters of output that are shown while a command runs. */
const MAX_TAIL = 64 * 1024;

export function applyLive(fold: Fold, type: string, part: Part): boolean {
  if (type === "tool.output") return output(fold, part);
  const id = `${part.message_id}/${part.index}`;
  const row = rowOf(fold, part, id);
  if (type === "part.dropped") {
    fold.drop(row?.id ?? id);
    return true;
  }
  if (row && row.seq > 0) return true; // stored already
  const offset = part.offset ?? 0;
  const before = row ? textOf(row) : "";
  if (type === "part.delta" && offset > before.length) return false;
  const text = type === "part.began" ? before : before.slice(0, offset) + (part.text ?? "");
  fold.activity = null;
  putPart(fold, part, id, text, row);
  return true;
}

function rowOf(fold: Fold, part: Part, id: string): Row | undefined {
  return fold.rows.get(fold.calls.get(id) || part.call_id || id);
}

function putPart(fold: Fold, part: Part, id: string, text: string, before: Row | undefined): void {
  const entry: Entry = {
    seq: 0,
    id: "",
    parent: "",
    at: before?.at ?? serverNow(),
    event: { type: "raw", data: {} },
    agent: before?.agent ?? "",
    parentCall: part.parent_call ?? before?.parentCall ?? "",
  };
  if (part.kind === "tool_input" && part.call_id) fold.calls.set(id, part.call_id);
  const base = rowBase(fold, entry, before?.id ?? (fold.calls.get(id) || id));
  if (part.kind === "thinking") {
    fold.put({ ...base, kind: "thinking", text, cut: null, streaming: true, redacted: false });
  } else if (part.kind === "tool_input") {
    const known = before?.kind === "tool" ? before : undefined;
    fold.put({
      ...emptyToolRow(fold, entry, id),
      ...known,
      ...base,
      name: part.name || known?.name || "",
      writing: text,
      status: "writing",
    });
  } else {
    fold.put({ ...base, kind: "text", text, cut: null, streaming: true, partial: false, model: "" });
  }
  fold.open.add(base.id);
}

function textOf(row: Row): string {
  if (row.kind === "tool") return row.writing;
  return row.kind === "text" || row.kind === "thinking" ? row.text : "";
}

/** The end of a command's output. If its offset jumps, the earlier output is dropped. */
function output(fold: Fold, part: Part): boolean {
  const row = part.call_id ? fold.tool(part.call_id) : undefined;
  if (!row || isOver(row.status)) return true;
  fold.put(printed(row, part));
  return true;
}

function printed(row: ToolRow, part: Part): ToolRow {
  const end = row.printed;
  const offset = part.offset ?? 0;
  const text = part.text ?? "";
  const kept =
    offset === end
      ? row.tail
      : offset > end
        ? ""
        : row.tail.slice(0, Math.max(0, row.tail.length - (end - offset)));
  return { ...row, tail: (kept + text).slice(-MAX_TAIL), printed: offset + text.length };
}
