/** Status texts and context usage of a session. */
import type { ServerConfig, SessionView } from "@/api/types";
import { count } from "@/format/values";

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

export interface ContextUsage {
  percent: number;
  numbers: string;
  variant: "default" | "warning" | "destructive";
  /** A warning, if there is one. */
  message: string;
}

/** Null before the first model response; a response without tokens counts as data. */
export function contextUsage(session: SessionView, config: ServerConfig | null): ContextUsage | null {
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
