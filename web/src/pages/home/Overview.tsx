/** Overview: open requests, running and recent sessions; the oldest request in full. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMemo } from "react";
import type { OpenItem, SessionView } from "@/api/types";
import { ApprovalCard } from "@/approvals/ApprovalCard";
import { oneLine } from "@/format/invisible";
import { serverNow } from "@/format/serverClock";
import { baseName, money, plural } from "@/format/values";
import { InterruptedSessions } from "@/layout/InterruptedSessions";
import { requestSummary, useOpenRequests } from "@/layout/openRequests";
import { RelativeTime } from "@/layout/RelativeTime";
import { changedAt, projectOf, sectionOf, titleOf } from "@/layout/sessionOrder";
import { hasScope, interruptedWork, useApp, useSession } from "@/state/app";
import { Empty } from "@/ui/Empty";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { StatusMark } from "@/ui/Status";

const MOST_DONE = 12;

export function Overview() {
  const sessions = useApp((state) => state.sessions);
  const { running, failed, done } = useMemo(() => sorted(sessions), [sessions]);
  const open = useOpenRequests();
  const interrupted = interruptedWork(sessions).length;
  const nothing = interrupted + open.items.length + running.length + failed.length + done.length === 0;
  if (nothing && !open.loading) {
    return (
      <Empty
        page
        title="No sessions yet"
        action={
          <Link to="/new" className="text-accent underline underline-offset-2">
            New session
          </Link>
        }
      >
        Requests, running and finished sessions appear here. Press C to start a session.
      </Empty>
    );
  }
  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto max-w-205 px-6 py-8">
        <h1 className="sr-only">Overview</h1>
        <ConnectModel />
        <NeedsYou items={open.items} quiet={interrupted > 0} />
        <InterruptedSessions />
        <Group title="Running" sessions={running} empty="No sessions running." />
        <Group title="Failed" sessions={failed} />
        <Group title="Recently finished" sessions={done.slice(0, MOST_DONE)} />
      </div>
    </div>
  );
}

/** Link to connect a model, for people who have only used the demo. */
function ConnectModel() {
  const needed = useApp(
    ({ config, me }) => config !== null && !config.default_model && hasScope(me, "admin"),
  );
  if (!needed) return null;
  return (
    <p className="m-0 mb-8 rounded-box bg-surface-1 px-3 py-2">
      No model is connected yet.{" "}
      <Link
        to="/settings/$part"
        params={{ part: "models" }}
        className="text-accent underline underline-offset-2"
      >
        Connect a model
      </Link>{" "}
      to give agents tasks of your own.
    </p>
  );
}

function sorted(sessions: Record<string, SessionView>) {
  const now = serverNow() / 1000;
  const groups = { needs: [], running: [], failed: [], done: [], archived: [] } as Record<
    string,
    SessionView[]
  >;
  for (const each of Object.values(sessions))
    if (each.status !== "discarded") groups[sectionOf(each, now)]?.push(each);
  const newest = (a: SessionView, b: SessionView) => changedAt(b) - changedAt(a);
  const { running = [], failed = [], done = [] } = groups;
  return {
    running: running.sort((a, b) => b.created_at - a.created_at),
    failed: failed.sort(newest),
    done: done.sort(newest),
  };
}

function NeedsYou({ items, quiet }: { items: OpenItem[]; quiet: boolean }) {
  const [first, ...others] = items;
  if (!first) return quiet ? null : <Heading title="Needs you" empty="Nothing needs you." />;
  return (
    <section aria-label="Needs you" className="mb-8">
      <Heading title="Needs you" count={items.length} needs />
      <First item={first} />
      {others.length > 0 && (
        <ul className="m-0 mt-2 list-none p-0">
          {others.map((each) => (
            <li key={each.summary.id}>
              <Link
                to="/session/$id"
                params={{ id: each.session_id }}
                search={{ ask: each.summary.id }}
                className="target flex h-8 items-center gap-2 rounded-box px-2 text-ink-1 no-underline hover:bg-surface-1"
              >
                <span aria-hidden="true" className="text-needs">
                  ◆
                </span>
                <span className="min-w-0 flex-1 truncate">
                  <bdi>{oneLine(each.session_title) || baseName(each.cwd)}</bdi>{" "}
                  <span className="text-ink-3">{requestSummary(each)}</span>
                </span>
                <RelativeTime at={each.summary.opened_at} className="text-small text-ink-3" />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function First({ item }: { item: OpenItem }) {
  const session = useSession(item.session_id);
  if (!session) return null;
  return (
    <div>
      <SessionRow session={session} />
      <ErrorBoundary label="This request" resetKey={item.summary.id}>
        <div className="rounded-box border border-needs bg-surface-1">
          <ApprovalCard
            key={item.summary.id}
            session={session}
            interaction={item.summary}
            opened={item.opened}
          />
        </div>
      </ErrorBoundary>
    </div>
  );
}

function Group({ title, sessions, empty = "" }: { title: string; sessions: SessionView[]; empty?: string }) {
  if (sessions.length === 0) return empty ? <Heading title={title} empty={empty} /> : null;
  return (
    <section aria-label={title} className="mb-8">
      <Heading title={title} count={sessions.length} />
      <ul className="m-0 list-none p-0">
        {sessions.map((session) => (
          <li key={session.id}>
            <SessionRow session={session} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Heading(props: { title: string; count?: number; needs?: boolean; empty?: string }) {
  const { title, count = 0, needs = false, empty = "" } = props;
  return (
    <div className={empty ? "mb-8" : ""}>
      <h2
        className={`m-0 mb-1 px-2 text-[11px] leading-4 font-semibold tracking-wide uppercase ${needs ? "text-needs" : "text-ink-3"}`}
      >
        {title} {count > 0 && <span className="tabular font-normal">{count}</span>}
      </h2>
      {empty && <p className="m-0 px-2 text-ink-3">{empty}</p>}
    </div>
  );
}

function SessionRow({ session }: { session: SessionView }) {
  const doing = doingNow(session);
  return (
    <Link
      to="/session/$id"
      params={{ id: session.id }}
      className="target flex h-8 items-center gap-2 rounded-box px-2 text-ink-1 no-underline hover:bg-surface-1"
    >
      <StatusMark session={session} />
      <span className="min-w-0 flex-1 truncate">
        <bdi>{titleOf(session)}</bdi>
        {doing && (
          <span className="ml-2 text-small text-ink-3">
            <bdi>{doing}</bdi>
          </span>
        )}
      </span>
      <Cell width="w-32">
        <bdi title={projectOf(session)}>{oneLine(baseName(projectOf(session)))}</bdi>
      </Cell>
      <Cell width="w-14">{money(session.cost)}</Cell>
      <Cell width="w-10">
        <RelativeTime at={changedAt(session)} />
      </Cell>
    </Link>
  );
}

function Cell({ width, children }: { width: string; children: ReactNode }) {
  return (
    <span className={`tabular shrink-0 truncate text-right text-small text-ink-3 ${width}`}>{children}</span>
  );
}

/** Current activity, or why it stopped. */
function doingNow(session: SessionView): string {
  if (session.status === "failed") return oneLine(session.error).slice(0, 200);
  if (session.status === "waiting_input") return "";
  const tasks = session.tasks_total > 0 ? `${session.tasks_done} of ${session.tasks_total} tasks` : "";
  const queue = session.queued.length > 0 ? `${plural(session.queued.length, "message")}queued` : "";
  const calls = session.open_calls.length > 0 ? `${plural(session.open_calls.length, "tool")} running` : "";
  return [tasks, calls, queue].filter(Boolean).join(", ");
}
