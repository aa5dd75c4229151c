/** The talk of a session from top to bottom: only what is seen is drawn, and what is read stays where it is. */
import { useMemo, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { useUi } from "@/state/ui";
import { Empty } from "@/ui/Empty";
import { ActivityLine } from "./ActivityLine";
import { Earlier, useEarlier } from "./Earlier";
import { shownItems } from "./filter";
import { FindBar } from "./find/FindBar";
import { guessHeight } from "./guess";
import { Inspector } from "./Inspector";
import { JumpToLatest } from "./JumpToLatest";
import { LineView } from "./LineView";
import { ReadingContext } from "./place";
import { FirstWords, SendingRow } from "./rows/SendingRow";
import { useReading } from "./scroll/useReading";
import { useLinked } from "./useLinked";
import { useRowKeys } from "./useRowKeys";

/** Room above the first row: more where something stands there. */
const HEAD = { more: 40, none: 12 };

interface Props {
  transcript: Transcript;
  /** What it is called where there are several. */
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
  const guess = useMemo(
    () => (line: { id: string }) => guessHeight(line as (typeof items)[number], transcript.row(line.id)),
    [transcript],
  );
  const more = useOfTranscript(transcript, (all) => all.hasOlder);
  const head = more ? HEAD.more : HEAD.none;
  const { reading, scroller, start, end, above, below, line } = useReading(transcript.id, items, guess, head);
  const earlier = useEarlier(transcript, start === 0);
  const [finding, setFinding] = useState(false);
  useRowKeys(transcript, reading, items);
  useLinked(transcript, reading, ready);
  useCommand("find", () => setFinding(true));
  return (
    <section aria-label={label} className="relative min-h-0 flex-1">
      {finding && (
        <FindBar
          transcript={transcript}
          reading={reading}
          onClose={() => {
            setFinding(false);
            scroller.current?.focus();
          }}
        />
      )}
      <ReadingContext value={reading}>
        <div
          ref={scroller}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="h-full overflow-x-hidden overflow-y-auto outline-none [overflow-anchor:none]"
        >
          <div className="relative">
            <Earlier earlier={earlier} height={head} />
            <div
              role="feed"
              aria-busy={!ready}
              style={{ paddingTop: above, paddingBottom: below }}
              className="mx-auto max-w-[868px] px-6 max-md:px-4"
            >
              {items.slice(start, end).map((item, index) => (
                <LineView
                  key={item.id}
                  transcript={transcript}
                  item={item}
                  place={start + index}
                  line={line}
                />
              ))}
            </div>
            <div className="mx-auto max-w-[868px] px-6 pb-6 max-md:px-4">
              {!ready && items.length === 0 && <FirstWords sessionId={transcript.id} />}
              {sending.map((each) => (
                <SendingRow key={each.clientId} sending={each} />
              ))}
              <ActivityLine transcript={transcript} />
            </div>
          </div>
        </div>
        <JumpToLatest reading={reading} items={items} />
      </ReadingContext>
      <Inspector transcript={transcript} />
      {ready && items.length === 0 && sending.length === 0 && (
        <div className="pointer-events-none absolute inset-0">
          <Empty title="Nothing was said yet">
            Write below what is to be done. What the agent does appears here.
          </Empty>
        </div>
      )}
    </section>
  );
}
