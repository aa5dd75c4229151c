/** The tasks of a session. */
import type { SessionView } from "@/api/types";

export function TasksPanel({ session }: { session: SessionView }) {
  return <p>{session.id}</p>;
}
