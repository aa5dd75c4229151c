/** Status of a session as a shape, a label and a colour, each sufficient alone. */
import type { SessionStatus, SessionView } from "@/api/types";

export interface StatusStyle {
  shape: string;
  label: string;
  colour: string;
}

const STATUS_STYLES: Record<SessionStatus, StatusStyle> = {
  draft: { shape: "◦", label: "Draft", colour: "text-ink-3" },
  starting: { shape: "●", label: "Starting", colour: "text-running" },
  running: { shape: "●", label: "Running", colour: "text-running" },
  waiting_input: { shape: "◆", label: "Needs you", colour: "text-needs" },
  interrupting: { shape: "◌", label: "Stopping", colour: "text-ink-2" },
  interrupted: { shape: "◌", label: "Interrupted", colour: "text-ink-2" },
  completed: { shape: "✓", label: "Done", colour: "text-done" },
  failed: { shape: "✗", label: "Failed", colour: "text-failed" },
  discarded: { shape: "◦", label: "Discarded", colour: "text-ink-3" },
};

export function statusStyle(status: SessionStatus): StatusStyle {
  return STATUS_STYLES[status] ?? STATUS_STYLES.draft;
}

export function StatusMark({ session, withLabel = false }: { session: SessionView; withLabel?: boolean }) {
  const { shape, label, colour } = statusStyle(session.status);
  const pulse = session.status === "waiting_input" ? "pulse-needs" : "";
  return (
    <span className={`inline-flex items-center gap-1 ${colour}`} title={withLabel ? undefined : label}>
      <span aria-hidden="true" className={`inline-block w-3.5 text-center ${pulse}`}>
        {shape}
      </span>
      <span className={withLabel ? "" : "sr-only"}>{label}</span>
    </span>
  );
}
