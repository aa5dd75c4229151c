/** The context of a session. */
import type { SessionView } from "@/api/types";

export function ContextPanel({ session }: { session: SessionView }) {
  return <p>{session.id}</p>;
}
