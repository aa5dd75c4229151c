/** Permission decisions of a session: who, when, by which rule. */
import { useEffect, useState } from "react";
import { clock, moment } from "@/format/values";
import { useTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { Button } from "@/ui/Button";
import { VisibleText } from "@/ui/VisibleText";
import { Section } from "../Section";
import { type Decision, decisionsOf } from "./decisions";

const MARKS = {
  allowed: { shape: "✓", word: "Allowed", colour: "text-done" },
  denied: { shape: "✗", word: "Denied", colour: "text-failed" },
  cancelled: { shape: "◌", word: "Cancelled", colour: "text-ink-2" },
  open: { shape: "◆", word: "Waiting for you", colour: "text-needs" },
};
const PAGE = 30;
/** Milliseconds between two scans: a scan is linear in the number of rows. */
const SLOW = 1500;

export function Decisions({ sessionId }: { sessionId: string }) {
  const transcript = useTranscript(sessionId);
  const found = useThrottledDecisions(transcript);
  const [most, setMost] = useState(PAGE);
  return (
    <Section title="Decisions" number={found.length} open={false}>
      {found.length === 0 && (
        <p className="m-0 px-3 text-ink-3">No decisions yet. Read-only calls need none.</p>
      )}
      <ol className="m-0 list-none p-0">
        {found.slice(0, most).map((each) => (
          <Line key={each.id} decision={each} />
        ))}
      </ol>
      {found.length > most && (
        <Button look="quiet" className="mx-1" onClick={() => setMost(most + PAGE)}>
          Show more
        </Button>
      )}
    </Section>
  );
}

function Line({ decision: { at, tool, about, outcome, by, why } }: { decision: Decision }) {
  const { shape, word, colour } = MARKS[outcome];
  return (
    <li className="px-3 py-1">
      <div className="flex items-baseline gap-2">
        <span aria-hidden="true" className={`w-3.5 text-center ${colour}`}>
          {shape}
        </span>
        <span className="shrink-0 font-medium">{tool}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-code text-ink-2">
          <VisibleText text={about} />
        </span>
        <time className="tabular shrink-0 text-small text-ink-3" title={moment(at)}>
          {clock(at)}
        </time>
      </div>
      <p className="m-0 pl-5.5 text-small break-words text-ink-3">
        {word}
        {by && ` by ${by}`}
        {why && `: ${why}`}
      </p>
    </li>
  );
}

function useThrottledDecisions(transcript: Transcript): Decision[] {
  const [found, setFound] = useState<Decision[]>(() => decisionsOf(transcript.fold));
  useEffect(() => {
    let timer = 0;
    const look = () => {
      timer = 0;
      setFound(decisionsOf(transcript.fold));
    };
    const stop = transcript.subscribe(() => {
      timer ||= window.setTimeout(look, SLOW);
    });
    look();
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, [transcript]);
  return found;
}
