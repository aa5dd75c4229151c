/** For a task list entry: whether the page shows it and the server's table has it. */
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { useOfTranscript, useTranscript } from "@/state/hooks";
import type { Entry } from "@/stream/frames";
import { pageState, tableState } from "./trail";

const AGAIN_MS = 1000;

export function TasksTrail({ entry, sessionId }: { entry: Entry; sessionId: string }) {
  const shownAt = useOfTranscript(useTranscript(sessionId), (each) => each.fold.tasks.at);
  const { data } = useQuery({
    queryKey: ["tasks", sessionId, "table", entry.seq],
    queryFn: () => unwrap(api.GET("/sessions/{id}/tasks", { params: { path: { id: sessionId } } })),
    refetchInterval: ({ state }) =>
      state.data && tableState(entry, state.data.tasks, shownAt).behind ? AGAIN_MS : false,
  });
  return (
    <dl className="hairline-b m-0 flex shrink-0 flex-wrap gap-x-4 px-3 pb-2 text-small [&>div]:flex [&>div]:gap-1">
      <Fact name="Tasks panel" text={pageState(entry, shownAt)} />
      <Fact name="Database" text={data ? tableState(entry, data.tasks, shownAt).text : "…"} />
    </dl>
  );
}

function Fact({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <dt className="text-ink-3">{name}:</dt>
      <dd className="m-0">{text}</dd>
    </div>
  );
}
