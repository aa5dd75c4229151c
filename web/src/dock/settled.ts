/** How something that was asked came out, and by whom, in words. */
import type { InteractionState } from "@/state/rows";

/** Interactions this very tab has answered: nobody has to tell it about them. */
export const mine = new Set<string>();

const OUTCOMES: Record<string, string> = {
  allowed: "Allowed",
  denied: "Denied",
  cancelled: "No longer asked",
};

export function settledWords(
  asked: { kind: string; tool: string },
  settled: { outcome: string; by: string; message?: string },
  me: string,
): string {
  const what = asked.kind === "question" ? "The question" : asked.kind === "plan" ? "The plan" : asked.tool;
  const outcome =
    asked.kind === "question" && settled.outcome === "allowed" ? "Answered" : OUTCOMES[settled.outcome];
  if (settled.outcome === "cancelled" && settled.by === "interrupt")
    return `${what}: no longer asked, as the agent was stopped.`;
  const who = settled.by === "" ? "" : settled.by === me ? " by you in another window" : ` by ${settled.by}`;
  const why = settled.message ? ` “${settled.message}”` : "";
  return `${what}: ${(outcome ?? settled.outcome).toLowerCase()}${who}.${why}`;
}

export function isSettled(state: InteractionState | undefined): state is InteractionState {
  return state !== undefined && state.outcome !== "";
}
