/** The terminal of a session. */
import type { SessionView } from "@/api/types";

export function TerminalPanel({ session }: { session: SessionView }) {
  return <p>{session.id}</p>;
}
