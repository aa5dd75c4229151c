/** The pending model request, or its retry. */
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";

export function ActivityLine({ transcript }: { transcript: Transcript }) {
  const activity = useOfTranscript(transcript, (all) => all.fold.activity);
  return (
    <p role="status" className="m-0 flex min-h-8 items-center gap-2 text-ink-3">
      {activity?.retry ? (
        <span className="text-needs">{activity.retry}</span>
      ) : (
        activity && <span>Asking {activity.model || "the model"}…</span>
      )}
    </p>
  );
}
