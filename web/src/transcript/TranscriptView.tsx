/** The talk of a session from top to bottom. */
import type { Transcript } from "@/state/transcript";

export function TranscriptView({ transcript }: { transcript: Transcript }) {
  return <p>{transcript.id}</p>;
}
