/** Says once that a session's context has grown full: in passing at first, so that it cannot be missed at the end (S000-67). */
import type { StreamFrame } from "@/api/types";
import { useApp } from "@/state/app";
import { toast } from "@/ui/toast";
import { serverNow } from "@/words/now";

/** What is replayed was said when it happened. */
const NEWS_MS = 60_000;
const STAYS_MS = 60_000;

export function tellCrossed(frame: StreamFrame, now = serverNow()): void {
  const { config, sessions } = useApp.getState();
  if (!config || now - Date.parse(frame.ts) > NEWS_MS) return;
  const id = `context-${frame.session_id}`;
  const description = sessions[frame.session_id]?.title ?? "";
  if (frame.threshold === "critical") {
    toast.error(config.thresholds.critical.text, { id, description, duration: STAYS_MS });
  } else if (frame.threshold === "warning") toast(config.thresholds.warning.text, { id, description });
}
