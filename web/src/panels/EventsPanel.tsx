/** Events panel: the session's log, entry by entry, as JSON. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { SessionView } from "@/api/types";
import { count, moment, plural } from "@/format/values";
import { showError } from "@/state/actions";
import { useTranscript, useTranscriptVersion } from "@/state/hooks";
import type { Entry } from "@/stream/frames";
import { Button, IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";
import { equalRows } from "@/ui/rows/heights";
import { useRowWindow } from "@/ui/rows/useRowWindow";
import { Filtered, summary } from "./events/filter";
import { TasksTrail } from "./events/TasksTrail";

const LINE = 26;

export function EventsPanel({ session }: { session: SessionView }) {
  const transcript = useTranscript(session.id);
  useTranscriptVersion(transcript);
  const [kind, setKind] = useState("");
  const [chosen, setChosen] = useState(0);
  const filtered = useMemo(() => new Filtered(), []);
  const { entries } = transcript;
  const indices = filtered.indices(entries, kind);
  // Sequence numbers have no gaps.
  const entry = chosen ? entries[chosen - (entries[0]?.seq ?? 0)] : undefined;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="hairline-b flex h-9 shrink-0 items-center gap-2 px-3 max-md:h-12">
        <select
          aria-label="Event type"
          value={kind}
          onChange={(event) => setKind(event.target.value)}
          className="h-7 min-w-0 rounded-box border border-line bg-surface-0 px-1 max-md:h-11"
        >
          <option value="">All types</option>
          {[...filtered.kinds].sort().map(([name, number]) => (
            <option key={name} value={name}>
              {name} ({number})
            </option>
          ))}
        </select>
        <span className="tabular flex-1 truncate text-ink-3">
          {plural(indices.length, "entry", "entries")}
        </span>
        {transcript.hasOlder && (
          <Button look="quiet" onClick={() => void transcript.loadOlder().catch(showError)}>
            Load older
          </Button>
        )}
      </div>
      <Log entries={entries} indices={indices} chosen={chosen} onChoose={setChosen} />
      {entry && <Inspect entry={entry} sessionId={session.id} onClose={() => setChosen(0)} />}
    </div>
  );
}

interface LogProps {
  entries: readonly Entry[];
  indices: readonly number[];
  chosen: number;
  onChoose: (seq: number) => void;
}

function Log({ entries, indices, chosen, onChoose }: LogProps) {
  const container = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const rows = useMemo(() => equalRows(indices.length, LINE), [indices.length]);
  const { from, to, reveal } = useRowWindow(container, rows);
  useEffect(() => {
    if (pinned.current) reveal(rows.count - 1);
  }, [rows, reveal]);
  // The list is shorter beside an open entry: reveal the row then, or it is not rendered and the focus is lost.
  const choose = (entry: Entry, index: number) => {
    flushSync(() => onChoose(entry.seq));
    reveal(index);
  };
  const key = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = indices.findIndex((each) => entries[each]?.seq === chosen);
    const next = Math.max(0, Math.min(indices.length - 1, at < 0 ? indices.length - 1 : at + step));
    const entry = entries[indices[next] ?? -1];
    if (entry) choose(entry, next);
  };
  return (
    <div
      ref={container}
      role="listbox"
      aria-label="Log entries"
      tabIndex={0}
      onKeyDown={key}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        pinned.current = scrollHeight - scrollTop - clientHeight < 2 * LINE;
      }}
      className="min-h-0 flex-1 overflow-auto outline-offset-[-2px]"
    >
      <div role="presentation" className="relative" style={{ height: rows.top(rows.count) }}>
        {indices.slice(from, to).map((each, index) => {
          const entry = entries[each];
          if (!entry) return null;
          return (
            <Line
              key={entry.seq}
              entry={entry}
              top={rows.top(from + index)}
              chosen={entry.seq === chosen}
              onChoose={() => choose(entry, from + index)}
            />
          );
        })}
      </div>
    </div>
  );
}

interface LineProps {
  entry: Entry;
  top: number;
  chosen: boolean;
  onChoose: () => void;
}

function Line({ entry, top, chosen, onChoose }: LineProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
    <div
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      onClick={onChoose}
      style={{ top, height: LINE }}
      className={`absolute inset-x-0 flex cursor-pointer items-center gap-2 px-3 font-mono text-small hover:bg-surface-2 ${chosen ? "bg-surface-3 [&_.text-ink-3]:text-ink-2" : ""}`}
    >
      <span className="tabular w-10 shrink-0 text-right text-ink-3">{entry.seq}</span>
      <span className="shrink-0">{entry.event.type}</span>
      <span className="min-w-0 flex-1 truncate text-ink-3">{summary(entry)}</span>
      <time className="tabular shrink-0 text-ink-3">{timeOf(entry.at)}</time>
    </div>
  );
}

function timeOf(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

interface InspectProps {
  entry: Entry;
  sessionId: string;
  onClose: () => void;
}

function Inspect({ entry, sessionId, onClose }: InspectProps) {
  const text = useMemo(() => JSON.stringify(entry, null, 2), [entry]);
  return (
    <section aria-label="Log entry" className="hairline-t flex h-1/2 min-h-0 shrink-0 flex-col bg-surface-0">
      <div className="flex h-9 shrink-0 items-center gap-1 px-3 max-md:h-12">
        <span className="flex-1 truncate text-ink-2">
          {count(entry.seq)} · {moment(entry.at)}
        </span>
        <IconButton label="Copy JSON" onClick={() => void copy(text, "Entry copied")}>
          <Icon name="copy" size={14} />
        </IconButton>
        <IconButton label="Close entry" onClick={onClose}>
          <Icon name="close" size={14} />
        </IconButton>
      </div>
      {entry.event.type === "tasks_replaced" && <TasksTrail entry={entry} sessionId={sessionId} />}
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        tabIndex={0}
        className="m-0 min-h-0 flex-1 overflow-auto px-3 pb-3 font-mono text-code break-words whitespace-pre-wrap"
      >
        {text}
      </pre>
    </section>
  );
}
