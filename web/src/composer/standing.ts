/** How a session stands in the words people know (S000-66), and how full its context is (S000-36, S000-65). */
import type { ServerConfig, SessionView } from "@/api/types";
import { count } from "@/words/format";

export function isBusy(session: SessionView): boolean {
  return ["starting", "running", "waiting_input", "interrupting"].includes(session.status);
}

export function isOver(session: SessionView): boolean {
  return ["completed", "interrupted", "failed"].includes(session.status);
}

export function statusText(session: SessionView): string {
  switch (session.status) {
    case "starting":
    case "running":
      return "Agent is working...";
    case "waiting_input":
      return "Waiting for approval...";
    case "interrupting":
      return "Stopping...";
    case "completed":
      return "Completed. Send a message to continue.";
    case "interrupted":
      return session.error
        ? `Interrupted. ${session.error}`
        : "Session interrupted. Send a message to resume.";
    case "failed":
      return `Failed: ${session.error || "no reason was given"}`;
    case "discarded":
      return "This session was deleted.";
    default:
      return "Send a message to begin.";
  }
}

export interface Filling {
  percent: number;
  numbers: string;
  variant: "default" | "warning" | "destructive";
  /** What it means, where it means something. */
  message: string;
}

/** Nothing before the model has answered once; an answer of no tokens is data all the same. */
export function fillingOf(session: SessionView, config: ServerConfig | null): Filling | null {
  const { context, context_limit: limit } = session;
  if (!(limit > 0) || (session.steps === 0 && context === 0)) return null;
  const share = context / limit;
  const { warning, critical } = config?.thresholds ?? {};
  const numbers = `${count(context)} / ${count(limit)}`;
  const percent = Math.round(share * 100);
  if (share >= (critical?.at ?? 0.9))
    return { percent, numbers, variant: "destructive", message: critical?.text ?? "" };
  if (share >= (warning?.at ?? 0.6))
    return { percent, numbers, variant: "warning", message: warning?.text ?? "" };
  return { percent, numbers, variant: "default", message: "" };
}
