/** Words that are being said and outputs that are being printed: shown at once, replaced by what is stored. */
import type { Entry, Part } from "@/stream/frames";
import { serverNow } from "@/words/now";
import { noTool } from "./calls";
import { common } from "./entries";
import type { Fold } from "./fold";
import type { Row, ToolRow } from "./rows";
import { isOver } from "./rows";

/** Of the end of an output, as much as is shown while it runs. */
const TAIL = 64 * 1024;

export function applyLive(fold: Fold, type: string, part: Part): boolean {
  if (type === "tool.output") return output(fold, part);
  const id = `${part.message_id}/${part.index}`;
  const row = rowOf(fold, part, id);
  if (type === "part.dropped") {
    fold.drop(row?.id ?? id);
    return true;
  }
  if (row && row.seq > 0) return true; // stored already: what comes late says nothing new
  const offset = part.offset ?? 0;
  const before = row ? textOf(row) : "";
  if (type === "part.delta" && offset > before.length) return false;
  const text = type === "part.began" ? before : before.slice(0, offset) + (part.text ?? "");
  fold.activity = null;
  say(fold, part, id, text, row);
  return true;
}

function rowOf(fold: Fold, part: Part, id: string): Row | undefined {
  return fold.rows.get(fold.calls.get(id) || part.call_id || id);
}

function say(fold: Fold, part: Part, id: string, text: string, before: Row | undefined): void {
  const entry: Entry = {
    seq: 0,
    id: "",
    parent: "",
    at: before?.at ?? serverNow(),
    event: { type: "raw", data: {} },
    agent: "",
    parentCall: "",
  };
  if (part.kind === "tool_input" && part.call_id) fold.calls.set(id, part.call_id);
  const base = common(fold, entry, before?.id ?? (fold.calls.get(id) || id));
  if (part.kind === "thinking") {
    fold.put({ ...base, kind: "thinking", text, cut: null, streaming: true, redacted: false });
  } else if (part.kind === "tool_input") {
    const known = before?.kind === "tool" ? before : undefined;
    fold.put({
      ...noTool(fold, entry, id),
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

/** The end of what a command prints. Its offset may jump: then what was before it is left out. */
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
  return { ...row, tail: (kept + text).slice(-TAIL), printed: offset + text.length };
}
