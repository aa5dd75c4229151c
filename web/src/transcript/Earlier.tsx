/** What stands above the first row: that there is more, that it comes, or that it could not. */
import { useEffect, useState } from "react";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { Button } from "@/ui/Button";

export interface EarlierState {
  more: boolean;
  failed: boolean;
  load: () => void;
}

/** Loads the page before the first one when the reader comes near to it. */
export function useEarlier(transcript: Transcript, near: boolean): EarlierState {
  const more = useOfTranscript(transcript, (all) => all.hasOlder);
  const first = useOfTranscript(transcript, (all) => all.entries[0]?.seq ?? 0);
  const ready = useOfTranscript(transcript, (all) => all.state === "ready");
  const [failed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    transcript.older().catch(() => setFailed(true));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another first entry is another page to load
  useEffect(() => {
    if (near && more && ready && !failed) load();
  }, [near, more, ready, failed, first, transcript]);
  return { more, failed, load };
}

export function Earlier({ earlier, height }: { earlier: EarlierState; height: number }) {
  const { more, failed, load } = earlier;
  return (
    <div
      style={{ height }}
      className="absolute inset-x-0 top-0 flex items-center justify-center gap-2 text-small text-ink-3"
    >
      {failed ? (
        <>
          What came before could not be loaded. <Button onClick={load}>Try again</Button>
        </>
      ) : (
        more && "Loading what came before…"
      )}
    </div>
  );
}
