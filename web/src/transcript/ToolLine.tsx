/**
 * A tool call: one line when finished, the end of its output while it runs, everything when expanded.
 * Failures are never collapsed.
 */
import { memo } from "react";
import { duration, moment } from "@/format/values";
import { useApp } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { isOver } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Ansi } from "@/text/Ansi";
import { problemOf } from "@/tools/parts/fields";
import { type ToolView, viewOf } from "@/tools/registry";
import { Elapsed } from "@/ui/Elapsed";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { needsApproval, toolStatusStyle } from "./labels";
import { parsePartialInput } from "./partialInput";
import { ToolTail } from "./ToolTail";
import { useFold } from "./useFold";

interface Props {
  transcript: Transcript;
  row: ToolRow;
  sessionId: string;
  /** Replaces the title of the tool's view where that is shown elsewhere. */
  title?: string;
}

export const ToolLine = memo(function ToolLine({ row, sessionId, title = "" }: Props) {
  const [open, change] = useFold(row.id, false);
  const view = viewOf(row.name);
  const cwd = useApp((state) => state.sessions[sessionId]?.cwd);
  const shown = row.status === "writing" ? { ...row, input: parsePartialInput(row.writing) } : row;
  const failure = failureText(row); // shown once: not on the line as well if it is short
  const { shape, label, ink, edge } = toolStatusStyle(row);
  const pulse = !isOver(row.status) && !needsApproval(row) ? "pulse-needs" : "";
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
          <VisibleText text={title || titleOf(view, shown, cwd)} />
        </span>
        {view.inline && !(failure && !failure.includes("\n")) && (
          <span className="tabular shrink-0 text-small text-ink-2">{view.inline(shown)}</span>
        )}
        <span className="tabular w-12 shrink-0 text-right text-small text-ink-3">
          {row.status === "running" ? <Elapsed since={row.startedAt} /> : took(row.durationMs)}
        </span>
        <span className={`w-4 shrink-0 text-center ${ink} ${pulse}`} aria-hidden="true">
          {shape}
        </span>
        <span className="sr-only">{label}</span>
      </button>
      <ToolTail row={row} />
      {!open && failure && <FailureText text={failure} />}
      {open && (
        <div className="pr-1 pb-2 pl-[30px]">
          <ErrorBoundary label={`The call of ${row.name || "a tool"}`} resetKey={row}>
            <view.Body row={shown} sessionId={sessionId} />
          </ErrorBoundary>
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

/** The error message, visible without expanding. */
function failureText(row: ToolRow): string {
  if (row.malformed) return row.malformed;
  if (row.status !== "error" && row.status !== "denied") return "";
  const who = row.interaction?.by && row.status === "denied" ? `Denied by ${row.interaction.by}. ` : "";
  return who + excerpt(problemOf(row));
}

function FailureText({ text }: { text: string }) {
  return (
    <pre
      className={`m-0 overflow-hidden pr-2 pb-1.5 pl-[30px] font-mono text-code text-ink-2 ${text.includes("\n") ? "whitespace-pre" : "break-words whitespace-pre-wrap"}`}
    >
      <Ansi text={text} />
    </pre>
  );
}

const MOST_LINES = 6;

/** The last lines of a long error, which usually contain the reason. */
function excerpt(text: string): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= MOST_LINES) return text.trimEnd();
  return [`… ${lines.length - MOST_LINES} lines before`, ...lines.slice(-MOST_LINES)].join("\n");
}
