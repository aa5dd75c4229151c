/** How a session stands: a shape, a word and a colour, so that each alone is enough. */
import type { SessionStatus, SessionView } from "@/api/types";

export interface Standing {
  shape: string;
  word: string;
  colour: string;
}

const STANDINGS: Record<SessionStatus, Standing> = {
  draft: { shape: "◦", word: "Draft", colour: "text-ink-3" },
  starting: { shape: "●", word: "Starting", colour: "text-running" },
  running: { shape: "●", word: "Running", colour: "text-running" },
  waiting_input: { shape: "◆", word: "Needs you", colour: "text-needs" },
  interrupting: { shape: "◌", word: "Stopping", colour: "text-ink-2" },
  interrupted: { shape: "◌", word: "Interrupted", colour: "text-ink-2" },
  completed: { shape: "✓", word: "Done", colour: "text-done" },
  failed: { shape: "✗", word: "Failed", colour: "text-failed" },
  discarded: { shape: "◦", word: "Discarded", colour: "text-ink-3" },
};

export function standingOf(status: SessionStatus): Standing {
  return STANDINGS[status] ?? STANDINGS.draft;
}

export function StatusMark({ session, words = false }: { session: SessionView; words?: boolean }) {
  const { shape, word, colour } = standingOf(session.status);
  const pulse = session.status === "waiting_input" ? "pulse-needs" : "";
  return (
    <span className={`inline-flex items-center gap-1 ${colour}`} title={words ? undefined : word}>
      <span aria-hidden="true" className={`inline-block w-3.5 text-center ${pulse}`}>
        {shape}
      </span>
      <span className={words ? "" : "sr-only"}>{word}</span>
    </span>
  );
}
