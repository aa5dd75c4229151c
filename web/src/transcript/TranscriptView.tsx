/** The transcript of a session: a virtualized list that keeps the reading position. */
import { lazy, Suspense, useMemo, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { useUi } from "@/state/ui";
import { Empty } from "@/ui/Empty";
import { ActivityLine } from "./ActivityLine";
import { estimateHeight } from "./estimateHeight";
import { shownItems } from "./filter";
import { useInspected } from "./inspect";
import { JumpToLatest } from "./JumpToLatest";
import { LineView } from "./LineView";
import { OlderEntries, useLoadOlder } from "./OlderEntries";
import { FirstPrompt, SendingRow } from "./rows/SendingRow";
import { useVirtualizer } from "./scroll/useVirtualizer";
import { VirtualizerContext } from "./useFold";
import { useLinkTarget } from "./useLinkTarget";
import { useRowKeys } from "./useRowKeys";

/** Space above the first row: more if there are older entries. */
const HEAD = { more: 40, none: 12 };

/** Loaded when they are first opened. */
const FindBar = lazy(async () => ({ default: (await import("./find/FindBar")).FindBar }));
const Inspector = lazy(async () => ({ default: (await import("./Inspector")).Inspector }));

function InspectedCall({ transcript }: { transcript: Transcript }) {
  const { sessionId, callId } = useInspected();
  if (sessionId !== transcript.id || !callId) return null;
  return (
    <Suspense fallback={null}>
      <Inspector key={callId} transcript={transcript} callId={callId} />
    </Suspense>
  );
}

interface Props {
  transcript: Transcript;
  /** Label where there are several. */
  label?: string;
}

export function TranscriptView({ transcript, label = "Transcript" }: Props) {
  const fold = useOfTranscript(transcript, (all) => all.fold);
  const listed = useOfTranscript(transcript, (all) => all.fold.listed);
  const sending = useOfTranscript(transcript, (all) => all.sending);
  const ready = useOfTranscript(transcript, (all) => all.state === "ready");
  const hideTools = useUi((state) => state.hideTools);
  const hideThinking = useUi((state) => state.hideThinking);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is changed in place; `listed` says when
  const items = useMemo(
    () => shownItems(fold, { hideTools, hideThinking }),
    [fold, listed, hideTools, hideThinking],
  );
  const estimate = useMemo(
    () => (line: { id: string }) => estimateHeight(line as (typeof items)[number], transcript.row(line.id)),
    [transcript],
  );
  const more = useOfTranscript(transcript, (all) => all.hasOlder);
  const head = more ? HEAD.more : HEAD.none;
  const { virtualizer, scroller, start, end, paddingTop, paddingBottom, lineRef } = useVirtualizer(
    transcript.id,
    items,
    estimate,
    head,
  );
  const older = useLoadOlder(transcript, start === 0);
  const [finding, setFinding] = useState(false);
  useRowKeys(transcript, virtualizer, items);
  useLinkTarget(transcript, virtualizer, ready);
  useCommand("find", () => setFinding(true));
  return (
    <section aria-label={label} className="relative min-h-0 flex-1">
      {finding && (
        <Suspense fallback={null}>
          <FindBar
            transcript={transcript}
            virtualizer={virtualizer}
            onClose={() => {
              setFinding(false);
              scroller.current?.focus();
            }}
          />
        </Suspense>
      )}
      <VirtualizerContext value={virtualizer}>
        <div
          ref={scroller}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
          tabIndex={0}
          className="h-full overflow-x-hidden overflow-y-auto outline-none [overflow-anchor:none]"
        >
          <div className="relative">
            <OlderEntries older={older} height={head} />
            <div
              role="feed"
              aria-busy={!ready}
              style={{ paddingTop, paddingBottom }}
              className="mx-auto max-w-[868px] px-6 max-md:px-4"
            >
              {items.slice(start, end).map((item, index) => (
                <LineView
                  key={item.id}
                  transcript={transcript}
                  item={item}
                  position={start + index}
                  line={lineRef}
                />
              ))}
            </div>
            <div className="mx-auto max-w-[868px] px-6 pb-6 max-md:px-4">
              {!ready && items.length === 0 && <FirstPrompt sessionId={transcript.id} />}
              {sending.map((each) => (
                <SendingRow key={each.clientId} sending={each} />
              ))}
              <ActivityLine transcript={transcript} />
            </div>
          </div>
        </div>
        <JumpToLatest virtualizer={virtualizer} items={items} />
      </VirtualizerContext>
      <InspectedCall transcript={transcript} />
      {ready && items.length === 0 && sending.length === 0 && (
        <div className="pointer-events-none absolute inset-0">
          <Empty title="No messages yet">Describe the task below. The agent's work appears here.</Empty>
        </div>
      )}
    </section>
  );
}
