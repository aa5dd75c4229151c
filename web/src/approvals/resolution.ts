/** How a request was resolved, and by whom. */
import type { InteractionState } from "@/state/rows";

/** Interactions answered in this tab, which need no notice. */
export const answeredHere = new Set<string>();

const OUTCOMES: Record<string, string> = {
  allowed: "Allowed",
  denied: "Denied",
  cancelled: "Withdrawn",
};

export function resolutionText(
  asked: { kind: string; tool: string },
  settled: { outcome: string; by: string; message?: string },
  me: string,
): string {
  const what = asked.kind === "question" ? "Question" : asked.kind === "plan" ? "Plan" : asked.tool;
  const outcome =
    asked.kind === "question" && settled.outcome === "allowed" ? "Answered" : OUTCOMES[settled.outcome];
  if (settled.outcome === "cancelled" && settled.by === "interrupt")
    return `${what}: withdrawn, because the agent was stopped.`;
  const who = settled.by === "" ? "" : settled.by === me ? " by you in another window" : ` by ${settled.by}`;
  const why = settled.message ? ` “${settled.message}”` : "";
  return `${what}: ${(outcome ?? settled.outcome).toLowerCase()}${who}.${why}`;
}

export function isSettled(state: InteractionState | undefined): state is InteractionState {
  return state !== undefined && state.outcome !== "";
}
