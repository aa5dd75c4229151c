/** Thinking of the model: one line that can be expanded. */
import type { ThinkingRow as Row } from "@/state/rows";
import { Icon } from "@/ui/Icon";
import { useFold } from "../useFold";
import { useFullText } from "./fullText";
import { LongProse } from "./LongProse";

export function ThinkingRow({ row, sessionId }: { row: Row; sessionId: string }) {
  const [open, change] = useFold(row.id, false);
  const ends = useFullText(row, "", sessionId);
  if (row.redacted || !row.text)
    return (
      <p className="m-0 flex h-8 items-center pl-2 text-ink-3">
        {row.streaming ? "Thinking…" : "Thinking, not shown"}
      </p>
    );
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={(event) => change(event.currentTarget)}
        className="target flex h-8 w-full min-w-0 items-center gap-2 pl-2 text-left text-ink-3 hover:bg-surface-1"
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} />
        <span>{row.streaming ? "Thinking…" : "Thought"}</span>
        {!open && <span className="min-w-0 flex-1 truncate italic">{firstLine(row)}</span>}
      </button>
      {open && (
        <div className="border-l-2 border-line pl-[28px] text-ink-2">
          <LongProse text={ends} streaming={row.streaming} />
        </div>
      )}
    </div>
  );
}

/** The current line while streaming, afterwards the first line. */
function firstLine(row: Row): string {
  const lines = row.text.trim().split("\n");
  return (row.streaming ? lines.at(-1) : lines[0])?.replace(/[*#`]/g, "").slice(0, 200) ?? "";
}
