/** What the agent waits for, above the composer; on a phone a sheet from below. */
import { useSearch } from "@tanstack/react-router";
import { memo, useEffect, useRef, useState } from "react";
import type { InteractionView, SessionView } from "@/api/types";
import type { Transcript } from "@/state/transcript";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { useNarrow } from "@/ui/media";
import { plural } from "@/words/format";
import { askerOf } from "./asking";
import { Decision } from "./Decision";
import { Elsewhere } from "./Elsewhere";
import { useOpened } from "./opened";

export const DecisionDock = memo(function DecisionDock({
  session,
  transcript,
}: {
  session: SessionView;
  transcript: Transcript;
}) {
  const narrow = useNarrow();
  const [foldedAt, setFoldedAt] = useState("");
  const box = useRef<HTMLElement>(null);
  const { current, place, go } = useCurrent(session, box);
  const opened = useOpened(session, current, transcript);
  const count = session.interactions.length;
  // Folded away until something else is asked.
  const asked = session.interactions.map((each) => each.id).join();
  const folded = narrow && foldedAt === asked;
  return (
    <>
      <Elsewhere session={session} transcript={transcript} />
      {current && (
        <section
          ref={box}
          aria-label="Needs you"
          tabIndex={-1}
          className="shrink-0 bg-surface-1 outline-none max-md:fixed max-md:inset-x-0 max-md:bottom-[var(--bar,0px)] max-md:z-30 max-md:max-h-[80dvh] max-md:overflow-y-auto max-md:rounded-t-xl max-md:shadow-float md:mx-auto md:mb-1 md:w-[calc(100%-24px)] md:max-w-[844px] md:rounded-box md:border md:border-needs"
        >
          {narrow && (
            <button
              type="button"
              aria-expanded={!folded}
              className="target flex w-full items-center justify-center gap-2 text-ink-2"
              onClick={() => setFoldedAt(folded ? "" : asked)}
            >
              <span aria-hidden="true" className="text-needs">
                ◆
              </span>
              {folded ? `${plural(count, "decision")} waiting` : "Later"}
              <Icon name="chevronDown" size={12} className={folded ? "rotate-180" : ""} />
            </button>
          )}
          {!folded &&
            (opened ? (
              <Decision
                key={current.id}
                session={session}
                interaction={current}
                opened={opened}
                asker={askerOf(transcript.fold, current)}
                aside={count > 1 && <Pager place={place} count={count} go={go} />}
              />
            ) : (
              <p className="m-0 px-3 py-2 text-ink-3">Loading what is asked</p>
            ))}
        </section>
      )}
    </>
  );
});

/** The one in view: the oldest, the one a link names, or the one somebody went to. */
function useCurrent(session: SessionView, box: React.RefObject<HTMLElement | null>) {
  const { ask } = useSearch({ strict: false });
  const [wanted, setWanted] = useState(ask ?? "");
  const all = session.interactions;
  useEffect(() => {
    if (!ask) return;
    setWanted(ask);
    box.current?.focus({ preventScroll: true });
  }, [ask, box]);
  const found = all.findIndex((each) => each.id === wanted);
  const place = Math.max(0, found);
  const current: InteractionView | undefined = all[place];
  const go = (step: number) => setWanted(all[(place + step + all.length) % all.length]?.id ?? "");
  return { current, place, go };
}

function Pager({ place, count, go }: { place: number; count: number; go: (step: number) => void }) {
  return (
    <span className="flex shrink-0 items-center">
      <IconButton label="The decision before" onClick={() => go(-1)}>
        <Icon name="chevronRight" className="rotate-180" />
      </IconButton>
      <span className="tabular text-small text-ink-2">
        {place + 1} of {count}
      </span>
      <IconButton label="The next decision" onClick={() => go(1)}>
        <Icon name="chevronRight" />
      </IconButton>
    </span>
  );
}
