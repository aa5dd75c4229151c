/** Words of the transcript: how turns end, what marks say, how calls stand. */
import type { MarkRow, ToolRow, ToolStatus, TurnRow } from "@/state/rows";
import { count, duration, money, plural } from "@/words/format";

const ENDINGS: Record<TurnRow["ending"], string> = {
  completed: "Done",
  api_error: "The model's service gave an error",
  auto_denied: "Stopped: too much was denied without asking",
  deferred: "Waits for an answer from outside",
  failed: "Failed",
  hook_stopped: "A hook stopped it",
  interrupted_streaming: "Interrupted",
  interrupted_tools: "Interrupted before its tools were done",
  max_cost: "Stopped: the limit of money is reached",
  max_output: "Stopped: the answer is longer than the model may write",
  max_structured_retries: "Stopped: the answer did not fit the wanted form",
  max_time: "Stopped: the limit of time is reached",
  max_tokens: "Stopped: the limit of tokens is reached",
  max_turns: "Stopped: the step limit (max turns) is reached",
  prompt_blocked: "A hook did not let the prompt through",
  prompt_too_long: "Stopped: the talk no longer fits into the model's context",
  refused: "The model refused",
  stop_hook_prevented: "A hook stopped it at its end",
  repeating: "Stopped: it repeated itself",
};

const CALM = new Set<TurnRow["ending"]>([
  "completed",
  "deferred",
  "interrupted_streaming",
  "interrupted_tools",
]);

export function endingOf(row: TurnRow): { words: string; calm: boolean } {
  return { words: ENDINGS[row.ending] ?? row.ending, calm: CALM.has(row.ending) };
}

/** What a turn took: always in this order, so that turns can be compared (S003-32). */
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

export function markWords(row: MarkRow): string {
  switch (row.of) {
    case "pruned":
      return `To make room, ${row.text} left out of what the model is sent. They are still here.`;
    case "rewind":
      return "Went back from here. What is dimmed above is no longer part of the talk.";
    case "model":
      return `The model is now ${row.text}.`;
    case "mode":
      return `The permission mode is now ${row.text}.`;
    case "workflow":
      return `The workflow is now ${row.text}.`;
    case "terminal":
      return "Goes on in a terminal. What is said there follows here, as far as the engine keeps it.";
    case "console":
      return "Back in the console. The history of both is kept.";
    case "forked":
      return "Forked from an earlier session. What is above happened there.";
    case "stopping":
      return row.text ? `Stopped by ${row.text}.` : "Stopped.";
    default:
      return row.text;
  }
}

export interface Standing {
  shape: string;
  word: string;
  ink: string;
  edge: string;
}

const STANDINGS: Record<ToolStatus, Standing> = {
  writing: { shape: "●", word: "being written", ink: "text-running", edge: "border-needs" },
  pending: { shape: "●", word: "waits", ink: "text-ink-3", edge: "border-needs" },
  running: { shape: "●", word: "runs", ink: "text-running", edge: "border-needs" },
  completed: { shape: "✓", word: "done", ink: "text-done", edge: "border-done/50" },
  error: { shape: "✗", word: "failed", ink: "text-failed", edge: "border-failed" },
  denied: { shape: "⊘", word: "denied", ink: "text-failed", edge: "border-failed" },
  interrupted: { shape: "◌", word: "interrupted", ink: "text-ink-2", edge: "border-line-strong" },
  no_call: {
    shape: "?",
    word: "a result whose call never came",
    ink: "text-ink-2",
    edge: "border-line-strong",
  },
};

export function asksNow(row: ToolRow): boolean {
  return row.interaction !== null && row.interaction.outcome === "" && isOpen(row.status);
}

function isOpen(status: ToolStatus): boolean {
  return status === "pending" || status === "running";
}

export function toolStanding(row: ToolRow): Standing {
  if (asksNow(row))
    return { shape: "◆", word: "needs you", ink: "text-needs pulse-needs", edge: "border-needs" };
  return STANDINGS[row.status];
}
