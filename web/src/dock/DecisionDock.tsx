/** What the agent waits for, above the composer. */
import type { SessionView } from "@/api/types";
import { useTranscriptVersion } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { Decision } from "./Decision";

export function DecisionDock({ session, transcript }: { session: SessionView; transcript: Transcript }) {
  useTranscriptVersion(transcript);
  const interaction = session.interactions[0];
  const opened = interaction && transcript.fold.interactions.get(interaction.id)?.opened;
  if (!interaction || !opened) return null;
  return <Decision session={session} interaction={interaction} opened={opened} />;
}
