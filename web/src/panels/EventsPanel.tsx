/** The events of a session. */
import type { SessionView } from "@/api/types";

export function EventsPanel({ session }: { session: SessionView }) {
  return <p>{session.id}</p>;
}
