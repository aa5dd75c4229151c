/** What the agent waits for, above the composer. */
import type { SessionView } from "@/api/types";
import type { Transcript } from "@/state/transcript";

export function DecisionDock({ session }: { session: SessionView; transcript: Transcript }) {
  return <p>{session.interactions.length}</p>;
}
