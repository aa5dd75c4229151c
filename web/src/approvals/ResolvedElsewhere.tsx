/** Shows for a while who answered a request that was on this page. */
import { useEffect, useRef, useState } from "react";
import type { InteractionView, SessionView } from "@/api/types";
import { useApp } from "@/state/app";
import { useTranscriptVersion } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { answeredHere, isSettled, resolutionText } from "./resolution";

const SHOWN_MS = 10_000;

export function ResolvedElsewhere({ session, transcript }: { session: SessionView; transcript: Transcript }) {
  const gone = useResolved(session.interactions);
  // The transcript is observed only when there is something to show.
  return gone.length > 0 ? <Lines gone={gone} transcript={transcript} /> : null;
}

function Lines({ gone, transcript }: { gone: InteractionView[]; transcript: Transcript }) {
  useTranscriptVersion(transcript);
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const settled = useApp((state) => state.settled);
  const me = useApp((state) => state.me?.name ?? "");
  const lines = gone.flatMap((asked) => {
    if (answeredHere.has(asked.id) || dismissed.has(asked.id)) return [];
    const folded = transcript.fold.interactions.get(asked.id);
    const outcome = isSettled(folded) ? folded : settled[asked.id];
    return outcome ? [{ id: asked.id, text: resolutionText(asked, outcome, me) }] : [];
  });
  if (lines.length === 0) return null;
  return (
    <div role="status" className="mx-auto w-full max-w-[868px] shrink-0 px-3">
      {lines.map(({ id, text }) => (
        <p key={id} className="m-0 flex min-h-8 items-center gap-2 text-ink-2">
          <Icon name="check" size={14} className="text-ink-3" />
          <span className="min-w-0 flex-1 truncate">
            <VisibleText text={text} />
          </span>
          <IconButton label="Dismiss" onClick={() => setDismissed(new Set(dismissed).add(id))}>
            <Icon name="close" size={12} />
          </IconButton>
        </p>
      ))}
    </div>
  );
}

/** Requests that were open a moment ago and are not any more. */
function useResolved(asked: readonly InteractionView[]): InteractionView[] {
  const before = useRef(asked);
  const [gone, setGone] = useState<InteractionView[]>([]);
  useEffect(() => {
    const left = before.current.filter((each) => !asked.some((one) => one.id === each.id));
    before.current = asked;
    if (left.length === 0) return;
    setGone((all) => [...all, ...left]);
    window.setTimeout(() => setGone((all) => all.filter((each) => !left.includes(each))), SHOWN_MS);
  }, [asked]);
  return gone;
}
