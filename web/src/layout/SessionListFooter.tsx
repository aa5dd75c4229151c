/** Footer of the session list: older and archived sessions, or a hint if there are none. */
import { useEffect, useState } from "react";
import { api, unwrap } from "@/api/client";
import { showError } from "@/state/actions";
import { putSessions, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Projects } from "./Projects";

interface Props {
  empty: boolean;
  filter: string;
  onFilter: (text: string) => void;
  archived: boolean;
  onArchived: (archived: boolean) => void;
}

export function SessionListFooter({ empty, filter, onFilter, archived, onArchived }: Props) {
  const missing = useMissing();
  const loading = useApp((state) => state.loading);
  const older = useOlder(false);
  const put = useOlder(true);
  useFilterOnServer(filter, missing);
  const toggle = async () => {
    if (!archived && !put.begun) await put.more();
    onArchived(!archived);
  };
  return (
    <div className="flex flex-col items-stretch py-2 *:justify-start">
      {loading > 0 && (
        <p role="status" className="m-0 px-2 py-1 text-ink-3">
          Loading {loading} more {loading === 1 ? "session" : "sessions"}…
        </p>
      )}
      {empty && loading === 0 && (
        <p className="m-0 px-2 py-1 text-ink-3">
          {filter ? "No sessions match." : "Sessions you start appear here."}
        </p>
      )}
      {missing && !older.ended && (
        <Button look="quiet" className="px-2" onClick={() => void older.more()}>
          Load older sessions
        </Button>
      )}
      <Button look="quiet" className="px-2" aria-pressed={archived} onClick={() => void toggle()}>
        {archived ? "Hide archived" : "Show archived"}
      </Button>
      {archived && !put.ended && (
        <Button look="quiet" className="px-2" onClick={() => void put.more()}>
          Load more archived
        </Button>
      )}
      {!filter && <Projects onPick={onFilter} />}
    </div>
  );
}

/** Whether the server has more sessions than the list. */
function useMissing(): boolean {
  return useApp((state) => {
    let known = 0;
    for (const each of Object.values(state.sessions)) if (!each.archived) known += 1;
    return state.total > known;
  });
}

const PAGE = 200;

/** Loads pages of older sessions, skipping pages without new ones. */
function useOlder(archived: boolean) {
  const [cursor, setCursor] = useState<string | null | undefined>(undefined);
  const more = async () => {
    let next = cursor;
    try {
      for (let fresh = false; !fresh; ) {
        const query = { archived, limit: PAGE, ...(next ? { cursor: next } : {}) };
        const page = await unwrap(api.GET("/sessions", { params: { query } }));
        const { sessions } = useApp.getState();
        fresh = page.cursor === null || page.sessions.some((each) => !(each.id in sessions));
        next = page.cursor;
        putSessions(page.sessions);
      }
      setCursor(next);
    } catch (error) {
      showError(error);
    }
  };
  return { more, begun: cursor !== undefined, ended: cursor === null };
}

/** Filters on the server, too: older sessions are not in the list. */
function useFilterOnServer(filter: string, missing: boolean): void {
  useEffect(() => {
    const q = filter.trim();
    if (!missing || q.length < 2) return;
    const timer = window.setTimeout(() => {
      unwrap(api.GET("/sessions", { params: { query: { q, limit: 50 } } })).then(
        (page) => putSessions(page.sessions),
        () => undefined, // the loaded sessions are filtered anyway
      );
    }, 250);
    return () => window.clearTimeout(timer);
  }, [filter, missing]);
}
