/** What is always visible of a session: directory, branch, mode, permission, status, context, cost. */
import type { SessionView } from "@/api/types";

export function SessionHeader({ session }: { session: SessionView }) {
  return <h1>{session.title}</h1>;
}
