/** The pending approval requests above the composer; a bottom sheet on phones. */
import { useSearch } from "@tanstack/react-router";
import { memo, useEffect, useRef, useState } from "react";
import type { InteractionView, SessionView } from "@/api/types";
import { plural } from "@/format/values";
import type { Transcript } from "@/state/transcript";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { useNarrow } from "@/ui/media";
import { ApprovalCard } from "./ApprovalCard";
import { ResolvedElsewhere } from "./ResolvedElsewhere";
import { requesterOf } from "./requestText";
import { useFullRequest } from "./useFullRequest";

/** Over the composer. A folded one is a line above it: nothing may cover the button that sends. */
const SHEET =
  "max-md:fixed max-md:inset-x-0 max-md:bottom-[var(--bar,0px)] max-md:z-30 max-md:max-h-[80dvh] max-md:overflow-y-auto max-md:rounded-t-xl max-md:shadow-float";

export const PendingApprovals = memo(function PendingApprovals({
  session,
  transcript,
}: {
  session: SessionView;
  transcript: Transcript;
}) {
  const narrow = useNarrow();
  const [foldedAt, setFoldedAt] = useState("");
  const box = useRef<HTMLElement>(null);
  const { current, position, go } = useCurrent(session, box);
  const opened = useFullRequest(session, current, transcript);
  const count = session.interactions.length;
  // Collapsed until the set of requests changes.
  const asked = session.interactions.map((each) => each.id).join();
  const folded = narrow && foldedAt === asked;
  return (
    <>
      <ResolvedElsewhere session={session} transcript={transcript} />
      {current && (
        <section
          ref={box}
          aria-label="Needs you"
          tabIndex={-1}
          className={`shrink-0 bg-surface-1 outline-none md:mx-auto md:mb-1 md:w-[calc(100%-24px)] md:max-w-[844px] md:rounded-box md:border md:border-needs ${folded ? "" : SHEET}`}
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
              {folded ? `${plural(count, "decision")} waiting` : "Hide"}
              <Icon name="chevronDown" size={12} className={folded ? "rotate-180" : ""} />
            </button>
          )}
          {!folded &&
            (opened ? (
              <ApprovalCard
                key={current.id}
                session={session}
                interaction={current}
                opened={opened}
                asker={requesterOf(transcript.fold, current)}
                aside={count > 1 && <Pager position={position} count={count} go={go} />}
              />
            ) : (
              <p className="m-0 px-3 py-2 text-ink-3">Loading the request</p>
            ))}
        </section>
      )}
    </>
  );
});

/** The current request: the oldest, the one a link names, or the one paged to. */
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
  const position = Math.max(0, found);
  const current: InteractionView | undefined = all[position];
  const go = (step: number) => setWanted(all[(position + step + all.length) % all.length]?.id ?? "");
  return { current, position, go };
}

function Pager({ position, count, go }: { position: number; count: number; go: (step: number) => void }) {
  return (
    <span className="flex shrink-0 items-center">
      <IconButton label="Previous request" onClick={() => go(-1)}>
        <Icon name="chevronRight" className="rotate-180" />
      </IconButton>
      <span className="tabular text-small text-ink-2">
        {position + 1} of {count}
      </span>
      <IconButton label="Next request" onClick={() => go(1)}>
        <Icon name="chevronRight" />
      </IconButton>
    </span>
  );
}
