/** Sessions that were cut off, such as by a restart of the server, with the reason and Resume. */
import { Link } from "@tanstack/react-router";
import type { SessionView } from "@/api/types";
import { oneLine } from "@/format/invisible";
import { retry } from "@/state/actions";
import { hasScope, interruptedWork, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { StatusMark } from "@/ui/Status";
import { RelativeTime } from "./RelativeTime";
import { changedAt, titleOf } from "./sessionOrder";

export function InterruptedSessions() {
  const sessions = useApp((state) => interruptedWork(state.sessions));
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  if (sessions.length === 0) return null;
  return (
    <section aria-label="Interrupted" className="mb-8">
      <div className="flex min-h-8 items-center gap-2 px-2">
        <h2 className="m-0 flex-1 text-[11px] leading-4 font-semibold tracking-wide text-needs uppercase">
          Interrupted <span className="tabular font-normal">{sessions.length}</span>
        </h2>
        {allowed && sessions.length > 1 && (
          <Button onClick={() => void resumeAll(sessions)}>Resume all {sessions.length}</Button>
        )}
      </div>
      <ul className="m-0 list-none p-0">
        {sessions.map((session) => (
          <li key={session.id} className="flex items-center gap-2 rounded-box px-2 hover:bg-surface-1">
            <Link
              to="/session/$id"
              params={{ id: session.id }}
              className="target flex min-h-8 min-w-0 flex-1 items-center gap-2 text-ink-1 no-underline"
            >
              <StatusMark session={session} />
              <span className="min-w-0 flex-1 truncate">
                <bdi>{titleOf(session)}</bdi>{" "}
                <span className="text-small text-ink-3">{oneLine(session.error).slice(0, 200)}</span>
              </span>
              <RelativeTime at={changedAt(session)} className="text-small text-ink-3" />
            </Link>
            {allowed && (
              <Button aria-label={`Resume ${titleOf(session)}`} onClick={() => void retry(session.id)}>
                Resume
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One by one: each failure shows its own error. */
async function resumeAll(sessions: readonly SessionView[]): Promise<void> {
  for (const { id } of sessions) await retry(id);
}
