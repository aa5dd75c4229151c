/** Where a person writes to the agent. */
import type { SessionView } from "@/api/types";

export function Composer({ session }: { session: SessionView }) {
  return <p>{session.status}</p>;
}
