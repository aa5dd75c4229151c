/** Warns once when a session's context passes a threshold. */
import type { StreamFrame } from "@/api/types";
import { serverNow } from "@/format/serverClock";
import { useApp } from "@/state/app";
import { toast } from "@/ui/toast";

/** Older frames are replayed: their warning was shown before. */
const RECENT_MS = 60_000;
const DURATION_MS = 60_000;

export function notifyThreshold(frame: StreamFrame, now = serverNow()): void {
  const { config, sessions } = useApp.getState();
  if (!config || now - Date.parse(frame.ts) > RECENT_MS) return;
  const id = `context-${frame.session_id}`;
  const description = sessions[frame.session_id]?.title ?? "";
  if (frame.threshold === "critical") {
    toast.error(config.thresholds.critical.text, { id, description, duration: DURATION_MS });
  } else if (frame.threshold === "warning") toast(config.thresholds.warning.text, { id, description });
}
