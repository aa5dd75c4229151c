/** The diff of a session. */
import type { SessionView } from "@/api/types";

export function DiffPanel({ session }: { session: SessionView }) {
  return <p>{session.id}</p>;
}
