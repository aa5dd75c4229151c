/** Loads older entries when the start is near, and shows the progress above the first row. */
import { useEffect, useState } from "react";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { Button } from "@/ui/Button";

export interface OlderState {
  more: boolean;
  failed: boolean;
  load: () => void;
}

/** Loads the previous page when the first row comes near. */
export function useLoadOlder(transcript: Transcript, near: boolean): OlderState {
  const more = useOfTranscript(transcript, (all) => all.hasOlder);
  const first = useOfTranscript(transcript, (all) => all.entries[0]?.seq ?? 0);
  const ready = useOfTranscript(transcript, (all) => all.state === "ready");
  const [failed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    transcript.loadOlder().catch(() => setFailed(true));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first entry means another page to load
  useEffect(() => {
    if (near && more && ready && !failed) load();
  }, [near, more, ready, failed, first, transcript]);
  return { more, failed, load };
}

export function OlderEntries({ older, height }: { older: OlderState; height: number }) {
  const { more, failed, load } = older;
  return (
    <div
      style={{ height }}
      className="absolute inset-x-0 top-0 flex items-center justify-center gap-2 text-small text-ink-3"
    >
      {failed ? (
        <>
          Earlier messages could not be loaded. <Button onClick={load}>Try again</Button>
        </>
      ) : (
        more && "Loading earlier messages…"
      )}
    </div>
  );
}
