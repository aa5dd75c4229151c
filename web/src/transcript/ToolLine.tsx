/**
 * A call of a tool: one line when it is finished, its end while it runs, all of it when opened. What
 * went wrong is never folded away.
 */
import { memo } from "react";
import { useApp } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { isOver } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Ansi } from "@/text/Ansi";
import { problemOf } from "@/tools/parts/fields";
import { type ToolView, viewOf } from "@/tools/registry";
import { Boundary } from "@/ui/Boundary";
import { Shown } from "@/ui/Hidden";
import { Icon } from "@/ui/Icon";
import { duration, moment } from "@/words/format";
import { Elapsed } from "./Elapsed";
import { useFold } from "./place";
import { ToolTail } from "./ToolTail";
import { asksNow, toolStanding } from "./words";
import { inputSoFar } from "./writing";

interface Props {
  transcript: Transcript;
  row: ToolRow;
  sessionId: string;
  /** In place of what the tool's view says, where that stands elsewhere already. */
  title?: string;
}

export const ToolLine = memo(function ToolLine({ row, sessionId, title = "" }: Props) {
  const [open, change] = useFold(row.id, false);
  const view = viewOf(row.name);
  const cwd = useApp((state) => state.sessions[sessionId]?.cwd);
  const shown = row.status === "writing" ? { ...row, input: inputSoFar(row.writing) } : row;
  const wrong = wordsOfWrong(row); // once: not on the line as well, where it is short
  const { shape, word, ink, edge } = toolStanding(row);
  const pulse = !isOver(row.status) && !asksNow(row) ? "pulse-needs" : "";
  return (
    <div className={`border-l-2 ${edge}`} data-status={row.status}>
      <button
        type="button"
        aria-expanded={open}
        title={timing(row)}
        onClick={(event) => change(event.currentTarget)}
        className="target flex h-8 w-full min-w-0 items-center gap-2 pr-1 pl-2 text-left hover:bg-surface-1"
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
        <Icon name={view.icon} size={14} className="text-ink-3" />
        <span className="min-w-0 flex-1 truncate text-ink-1">
          <Shown text={title || titleOf(view, shown, cwd)} />
        </span>
        {view.inline && !(wrong && !wrong.includes("\n")) && (
          <span className="tabular shrink-0 text-small text-ink-2">{view.inline(shown)}</span>
        )}
        <span className="tabular w-12 shrink-0 text-right text-small text-ink-3">
          {row.status === "running" ? <Elapsed since={row.startedAt} /> : took(row.durationMs)}
        </span>
        <span className={`w-4 shrink-0 text-center ${ink} ${pulse}`} aria-hidden="true">
          {shape}
        </span>
        <span className="sr-only">{word}</span>
      </button>
      <ToolTail row={row} />
      {!open && wrong && <Words text={wrong} />}
      {open && (
        <div className="pr-1 pb-2 pl-[30px]">
          <Boundary what={`The call of ${row.name || "a tool"}`} resetKey={row}>
            <view.Body row={shown} sessionId={sessionId} />
          </Boundary>
        </div>
      )}
    </div>
  );
});

function titleOf(view: ToolView, row: ToolRow, cwd = ""): string {
  try {
    return view.title(row, cwd) || row.name || "Tool";
  } catch {
    return row.name || "Tool";
  }
}

function took(milliseconds: number): string {
  return milliseconds >= 100 ? duration(milliseconds) : "";
}

function timing(row: ToolRow): string {
  const at = moment(row.startedAt || row.at);
  return row.durationMs > 0 ? `${at}, took ${duration(row.durationMs)}` : at;
}

/** The words of a failure, in view without a click. */
function wordsOfWrong(row: ToolRow): string {
  if (row.malformed) return row.malformed;
  if (row.status !== "error" && row.status !== "denied") return "";
  const who = row.interaction?.by && row.status === "denied" ? `Denied by ${row.interaction.by}. ` : "";
  return who + excerpt(problemOf(row));
}

function Words({ text }: { text: string }) {
  return (
    <pre
      className={`m-0 overflow-hidden pr-2 pb-1.5 pl-[30px] font-mono text-code text-ink-2 ${text.includes("\n") ? "whitespace-pre" : "break-words whitespace-pre-wrap"}`}
    >
      <Ansi text={text} />
    </pre>
  );
}

const MOST_LINES = 6;

/** Of a long failure, how it ends: there the reason stands most of the time. */
function excerpt(text: string): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= MOST_LINES) return text.trimEnd();
  return [`… ${lines.length - MOST_LINES} lines before`, ...lines.slice(-MOST_LINES)].join("\n");
}
