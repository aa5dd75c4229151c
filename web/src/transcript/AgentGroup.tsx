/** A sub-agent: its call, and its rows below. */
import type { ReactNode } from "react";
import type { BackgroundView } from "@/api/types";
import { duration, plural } from "@/format/values";
import { useApp } from "@/state/app";
import { useOfTranscript, useRow } from "@/state/hooks";
import type { Row, ToolRow } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Button } from "@/ui/Button";
import { backgroundStyle } from "@/ui/backgroundStyle";
import { Elapsed } from "@/ui/Elapsed";
import { Icon } from "@/ui/Icon";
import { type ToolStatusStyle, toolStatusStyle } from "./labels";
import { RowFrame } from "./RowFrame";
import { ToolLine } from "./ToolLine";
import { useFold } from "./useFold";

const NAMES = new Set(["Agent", "Task"]);
const NONE: string[] = [];
/** Rows shown of a long run: its end. */
const SHOWN = 30;

export function isAgent(transcript: Transcript, row: ToolRow): boolean {
  return NAMES.has(row.name) || transcript.fold.children.has(row.id);
}

interface Props {
  transcript: Transcript;
  row: ToolRow;
  sessionId: string;
  /** Renders a child row; given by `RowView`, which imports this module. */
  renderRow: RenderRow;
}

type RenderRow = (transcript: Transcript, row: Row) => ReactNode;

export function AgentGroup({ transcript, row, sessionId, renderRow }: Props) {
  const children = useOfTranscript(transcript, (all) => all.fold.children.get(row.id) ?? NONE);
  const needsApproval = useNeedsApproval(transcript, row.id);
  const [chosen, change] = useFold(`agent-${row.id}`, true);
  const open = needsApproval || chosen;
  const tools = children.reduce((sum, id) => sum + (transcript.row(id)?.kind === "tool" ? 1 : 0), 0);
  const background = useBackground(transcript.id, row.id);
  const runs = background?.state === "running" || row.status === "running";
  const { shape, label, ink, edge } = agentStyle(row, background);
  return (
    <div className={`border-l-2 ${edge}`} data-status={row.status}>
      <button
        type="button"
        aria-expanded={open}
        onClick={(event) => change(event.currentTarget, !open)}
        className="target flex h-8 w-full min-w-0 items-center gap-2 pr-1 pl-2 text-left hover:bg-surface-1"
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
        <Icon name="robot" size={14} className="text-ink-3" />
        <span className="min-w-0 truncate">Task: {descriptionOf(row)}</span>
        <span className="shrink-0 text-ink-3 max-md:hidden">{typeOf(row)}</span>
        <span className="tabular flex-1 shrink-0 whitespace-nowrap text-ink-3">
          ({plural(tools, "tool")})
        </span>
        <span className="tabular shrink-0 text-small text-ink-3">
          {background && !background.is_awaited && <span className="max-md:hidden">in background </span>}
          {runs ? (
            <Elapsed since={background ? background.started_at * 1000 : row.startedAt} />
          ) : background?.ended_at ? (
            duration((background.ended_at - background.started_at) * 1000)
          ) : (
            row.durationMs >= 100 && duration(row.durationMs)
          )}
        </span>
        <span
          className={`w-4 shrink-0 text-center ${needsApproval ? "pulse-needs text-needs" : ink}`}
          aria-hidden="true"
        >
          {needsApproval ? "◆" : shape}
        </span>
        <span className="sr-only">{needsApproval ? "needs you" : label}</span>
      </button>
      {open && (
        <div className="ml-[13px] border-l border-line pl-3">
          <Children transcript={transcript} ids={children} of={row.id} renderRow={renderRow} />
          <ToolLine transcript={transcript} row={row} sessionId={sessionId} title="Prompt and result" />
        </div>
      )}
    </div>
  );
}

interface ChildrenProps {
  transcript: Transcript;
  ids: string[];
  of: string;
  renderRow: RenderRow;
}

function Children({ transcript, ids, of, renderRow }: ChildrenProps) {
  const [all, showAll] = useFold(`all-${of}`, false);
  const hidden = all ? 0 : Math.max(0, ids.length - SHOWN);
  return (
    <>
      {hidden > 0 && (
        <Button look="quiet" onClick={(event) => showAll(event.currentTarget, true)}>
          Show {hidden} earlier
        </Button>
      )}
      {ids.slice(hidden).map((id) => (
        <Child key={id} transcript={transcript} id={id} renderRow={renderRow} />
      ))}
    </>
  );
}

function Child({ transcript, id, renderRow }: { transcript: Transcript; id: string; renderRow: RenderRow }) {
  const row: Row | undefined = useRow(transcript, id);
  if (!row) return null;
  return (
    <RowFrame sessionId={transcript.id} row={row}>
      {renderRow(transcript, row)}
    </RowFrame>
  );
}

export function descriptionOf(row: ToolRow): string {
  const { description, subagent_type: kind, prompt } = row.input;
  for (const candidate of [description, kind, prompt])
    if (typeof candidate === "string" && candidate) return candidate.slice(0, 200);
  return row.name || "an agent";
}

function typeOf(row: ToolRow): string {
  const kind = row.input.subagent_type;
  return typeof kind === "string" ? kind.slice(0, 60) : "";
}

const STATUS_OF: Record<BackgroundView["state"], ToolRow["status"]> = {
  running: "running",
  paused: "interrupted",
  completed: "completed",
  failed: "error",
  killed: "interrupted",
  lost: "error",
};

/** How the agent does. Its call is done as soon as an agent in the background was started, so that says nothing. */
function agentStyle(row: ToolRow, background: BackgroundView | undefined): ToolStatusStyle {
  if (!background || row.status !== "completed") return toolStatusStyle(row);
  const { word, shape, ink } = backgroundStyle(background);
  return { ...toolStatusStyle({ ...row, status: STATUS_OF[background.state] }), label: word, shape, ink };
}

/** The agent as the session lists it, while it runs and, in the background, for a while after. */
function useBackground(sessionId: string, callId: string): BackgroundView | undefined {
  return useApp((state) =>
    (state.sessions[sessionId]?.background ?? []).find(
      (each) => each.kind === "agent" && each.call_id === callId,
    ),
  );
}

/** Whether one of its calls needs approval. */
function useNeedsApproval(transcript: Transcript, id: string): boolean {
  return useApp((state) =>
    (state.sessions[transcript.id]?.interactions ?? []).some((each) => isBelow(transcript, each.call_id, id)),
  );
}

function isBelow(transcript: Transcript, callId: string, ancestor: string): boolean {
  let row = transcript.row(callId);
  for (let depth = 0; row && depth < 8; depth += 1) {
    if (row.parentCall === ancestor) return true;
    row = transcript.row(row.parentCall);
  }
  return false;
}
