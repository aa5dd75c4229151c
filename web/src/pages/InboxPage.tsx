/** Inbox: open requests of all sessions, the oldest first; the keys act on the selected one. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { OpenItem } from "@/api/types";
import { ApprovalCard } from "@/approvals/ApprovalCard";
import { oneLine } from "@/format/invisible";
import { baseName } from "@/format/values";
import { formatKey, keyOf } from "@/keys/keymap";
import { useCommand } from "@/keys/useCommand";
import { InterruptedSessions } from "@/layout/InterruptedSessions";
import { requestSummary, useOpenRequests } from "@/layout/openRequests";
import { RelativeTime } from "@/layout/RelativeTime";
import { stepFrom } from "@/layout/selection";
import { projectOf, titleOf } from "@/layout/sessionOrder";
import { interruptedWork, type Settled, useApp, useSession } from "@/state/app";
import { Empty } from "@/ui/Empty";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { useNarrow } from "@/ui/media";
import { outcomeText } from "./inbox/outcome";

interface Entry {
  item: OpenItem;
  settled: Settled | undefined;
}

export function InboxPage() {
  const { entries, loading } = useEntries();
  const [picked, setPicked] = useState("");
  const open = entries.filter((each) => !each.settled);
  const selected = entries.find((each) => each.item.summary.id === picked) ?? open[0] ?? entries[0];
  const id = selected?.item.summary.id ?? "";
  useInboxKeys(entries, id, selected?.item, setPicked);
  const interrupted = useApp((state) => interruptedWork(state.sessions).length > 0);
  if (!selected && interrupted)
    return (
      <div className="mx-auto max-w-205 px-6 py-8">
        <h1 className="sr-only">Inbox</h1>
        <InterruptedSessions />
      </div>
    );
  if (!selected) {
    return (
      <Empty page title={loading ? "Loading requests" : "Nothing needs you"}>
        Requests from all sessions appear here. Press {formatKey(keyOf("go.inbox"))} to open the inbox.
      </Empty>
    );
  }
  const next = () => {
    const left = open.filter((each) => each.item.summary.id !== id);
    const after =
      left.find((each) => each.item.summary.opened_at >= selected.item.summary.opened_at) ?? left[0];
    if (after) setPicked(after.item.summary.id);
  };
  return (
    <div className="flex h-full min-h-0">
      <List entries={entries} open={open.length} selected={id} onPick={setPicked} />
      <Detail key={id} entry={selected} onDone={next} />
    </div>
  );
}

/** Open requests, and those resolved since the page was opened, which stay listed. */
function useEntries(): { entries: Entry[]; loading: boolean } {
  const { items, loading } = useOpenRequests();
  const settled = useApp((state) => state.settled);
  const seen = useRef(new Map<string, OpenItem>());
  for (const item of items) seen.current.set(item.summary.id, item);
  const open = new Set(items.map((each) => each.summary.id));
  const entries: Entry[] = [];
  for (const [id, item] of seen.current) {
    const how = settled[id];
    if (open.has(id) && !how) entries.push({ item, settled: undefined });
    else if (how) entries.push({ item, settled: how });
  }
  entries.sort((a, b) => a.item.summary.opened_at - b.item.summary.opened_at);
  return { entries, loading };
}

function useInboxKeys(
  entries: Entry[],
  id: string,
  item: OpenItem | undefined,
  pick: (id: string) => void,
): void {
  const navigate = useNavigate();
  const ids = entries.map((each) => each.item.summary.id);
  useCommand("list.down", () => pick(stepFrom(ids, id, 1)), ids.length > 0);
  useCommand("list.up", () => pick(stepFrom(ids, id, -1)), ids.length > 0);
  useCommand(
    "list.open",
    () => {
      if (!item || document.activeElement?.closest("button, a, [role=button], summary")) return false;
      void navigate({ to: "/session/$id", params: { id: item.session_id }, search: { ask: id } });
      return true;
    },
    item !== undefined,
  );
}

interface ListProps {
  entries: Entry[];
  open: number;
  selected: string;
  onPick: (id: string) => void;
}

function List({ entries, open, selected, onPick }: ListProps) {
  const narrow = useNarrow();
  return (
    <section
      aria-label="Inbox"
      className="flex min-h-0 w-full shrink-0 flex-col md:w-80 md:border-r md:border-line"
    >
      <h1 className="m-0 flex h-11 shrink-0 items-center gap-2 px-4 text-prose font-semibold">
        Inbox <span className="tabular font-normal text-ink-3">{open} waiting</span>
      </h1>
      <ul className="m-0 min-h-0 flex-1 list-none overflow-y-auto p-0 px-2 pb-2">
        {entries.map((entry) => {
          const { item } = entry;
          const { id } = item.summary;
          const current = id === selected && !narrow;
          return (
            <li key={id}>
              <Link
                to="/session/$id"
                params={{ id: item.session_id }}
                search={{ ask: id }}
                aria-current={current ? "true" : undefined}
                onClick={(event) => {
                  if (narrow || event.metaKey || event.ctrlKey) return;
                  event.preventDefault();
                  onPick(id);
                }}
                className={`flex items-start gap-2 rounded-box px-2 py-1.5 text-ink-1 no-underline ${current ? "bg-surface-2" : "hover:bg-surface-1"}`}
              >
                <Line entry={entry} />
              </Link>
            </li>
          );
        })}
        <li>
          <InterruptedSessions />
        </li>
      </ul>
    </section>
  );
}

function useMyName(): string {
  return useApp((state) => state.me?.name ?? "");
}

function Line({ entry: { item, settled } }: { entry: Entry }) {
  const me = useMyName();
  const title = oneLine(item.session_title) || baseName(item.cwd);
  return (
    <>
      <span aria-hidden="true" className={settled ? "text-ink-3" : "text-needs"}>
        {settled ? "✓" : "◆"}
      </span>
      <span className={`min-w-0 flex-1 ${settled ? "text-ink-3" : ""}`}>
        <span className="block truncate">
          <bdi>{title}</bdi>
        </span>
        <span className="block truncate text-small text-ink-3">
          {settled ? outcomeText(settled, me) : requestSummary(item)} in{" "}
          <bdi>{oneLine(baseName(item.cwd))}</bdi>
        </span>
      </span>
      <RelativeTime at={item.summary.opened_at} className="text-small text-ink-3" />
    </>
  );
}

function Detail({ entry: { item, settled }, onDone }: { entry: Entry; onDone: () => void }) {
  const session = useSession(item.session_id);
  const narrow = useNarrow();
  const me = useMyName();
  if (!session || narrow) return null;
  return (
    <section aria-label="Request" className="min-h-0 min-w-0 flex-1 overflow-y-auto">
      <header className="flex min-h-11 items-center gap-3 px-4 pt-2">
        <h2 className="m-0 min-w-0 flex-1 truncate text-prose font-semibold">
          <bdi>{titleOf(session)}</bdi>{" "}
          <span className="font-normal text-ink-3">
            <bdi>{oneLine(projectOf(session))}</bdi>
          </span>
        </h2>
        <Link
          to="/session/$id"
          params={{ id: session.id }}
          search={{ ask: item.summary.id }}
          className="inline-flex items-center gap-1 text-accent"
        >
          Open session <Icon name="chevronRight" size={14} />
        </Link>
      </header>
      <div className="max-w-205 p-4">
        {settled ? (
          <p role="status" className="m-0 rounded-box bg-surface-1 px-3 py-2 text-ink-2">
            {outcomeText(settled, me)}. Nothing is left to decide here.
          </p>
        ) : (
          <ErrorBoundary label="This request" resetKey={item.summary.id}>
            <div className="rounded-box border border-needs bg-surface-1">
              <ApprovalCard
                session={session}
                interaction={item.summary}
                opened={item.opened}
                onDone={onDone}
              />
            </div>
          </ErrorBoundary>
        )}
      </div>
    </section>
  );
}
