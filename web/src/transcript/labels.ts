/** Labels of the transcript: endings of turns, marks, status of calls. */
import { count, duration, money, plural } from "@/format/values";
import type { MarkRow, ToolRow, ToolStatus, TurnRow } from "@/state/rows";

const ENDINGS: Record<TurnRow["ending"], string> = {
  completed: "Done",
  api_error: "Model provider error",
  auto_denied: "Stopped: too many calls were denied automatically",
  deferred: "Waiting for an external answer",
  failed: "Failed",
  hook_stopped: "Stopped by a hook",
  interrupted_streaming: "Interrupted",
  interrupted_tools: "Interrupted while tools were running",
  max_cost: "Budget limit reached",
  max_output: "Output limit reached",
  max_structured_retries: "Structured output did not match the schema",
  max_time: "Time limit reached",
  max_tokens: "Token limit reached",
  max_turns: "Step limit (max turns) reached",
  prompt_blocked: "Prompt blocked by a hook",
  prompt_too_long: "Context window full",
  refused: "Refused by the model",
  stop_hook_prevented: "A hook prevented the stop",
  repeating: "Stopped: the agent was repeating itself",
};

const CALM = new Set<TurnRow["ending"]>([
  "completed",
  "deferred",
  "interrupted_streaming",
  "interrupted_tools",
]);

export function endingLabel(row: TurnRow): { label: string; calm: boolean } {
  return { label: ENDINGS[row.ending] ?? row.ending, calm: CALM.has(row.ending) };
}

/** Numbers of a turn, always in this order, so that turns can be compared. */
export function turnNumbers(row: TurnRow): string[] {
  const { input, output, cache_read, cache_write } = row.usage;
  const sent = input + cache_read + cache_write;
  return [
    ...(row.steps > 0 ? [plural(row.steps, "step")] : []),
    ...(row.tools > 0 ? [plural(row.tools, "tool")] : []),
    duration(row.durationMs),
    ...(row.waitedMs >= 1000 ? [`waited ${duration(row.waitedMs)} for you`] : []),
    ...(sent + output > 0 ? [`${count(sent)} in, ${count(output)} out`] : []),
    ...(row.cost > 0 ? [money(row.cost)] : []),
  ];
}

export function exactCost(row: TurnRow): string {
  return `$${row.cost.toFixed(4)}`;
}

export function markText(row: MarkRow): string {
  switch (row.of) {
    case "pruned":
      return `${row.text} pruned from the model's context. They are still shown here.`;
    case "rewind":
      return "Rewound. The dimmed rows above are no longer part of the conversation.";
    case "model":
      return `The model is now ${row.text}.`;
    case "mode":
      return `The permission mode is now ${row.text}.`;
    case "workflow":
      return `The workflow is now ${row.text}.`;
    case "terminal":
      return "Continued in a terminal. Messages there appear here as far as the engine records them.";
    case "console":
      return "Back in the console. Both histories are kept.";
    case "forked":
      return "Forked from an earlier session. The rows above happened there.";
    case "stopping":
      return row.text ? `Stopped by ${row.text}.` : "Stopped.";
    default:
      return row.text;
  }
}

export interface ToolStatusStyle {
  shape: string;
  label: string;
  ink: string;
  edge: string;
}

const STATUS_STYLES: Record<ToolStatus, ToolStatusStyle> = {
  writing: { shape: "●", label: "being written", ink: "text-running", edge: "border-needs" },
  pending: { shape: "●", label: "pending", ink: "text-ink-3", edge: "border-needs" },
  running: { shape: "●", label: "running", ink: "text-running", edge: "border-needs" },
  completed: { shape: "✓", label: "done", ink: "text-done", edge: "border-done/50" },
  error: { shape: "✗", label: "failed", ink: "text-failed", edge: "border-failed" },
  denied: { shape: "⊘", label: "denied", ink: "text-failed", edge: "border-failed" },
  interrupted: { shape: "◌", label: "interrupted", ink: "text-ink-2", edge: "border-line-strong" },
  no_call: {
    shape: "?",
    label: "result without a call",
    ink: "text-ink-2",
    edge: "border-line-strong",
  },
};

export function needsApproval(row: ToolRow): boolean {
  return row.interaction !== null && row.interaction.outcome === "" && isOpen(row.status);
}

function isOpen(status: ToolStatus): boolean {
  return status === "pending" || status === "running";
}

export function toolStatusStyle(row: ToolRow): ToolStatusStyle {
  if (needsApproval(row))
    return { shape: "◆", label: "needs you", ink: "text-needs pulse-needs", edge: "border-needs" };
  return STATUS_STYLES[row.status];
}
