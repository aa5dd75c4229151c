/** Under an entry with a list of tasks: whether the page shows that list, and whether the server's table has it. */
import { useQuery } from "@tanstack/react-query";
import { api, said } from "@/api/client";
import { useOfTranscript, useTranscript } from "@/state/hooks";
import type { Entry } from "@/stream/frames";
import { inTable, onPage } from "./trail";

const AGAIN_MS = 1000;

export function TasksTrail({ entry, sessionId }: { entry: Entry; sessionId: string }) {
  const shownAt = useOfTranscript(useTranscript(sessionId), (each) => each.fold.tasks.at);
  const { data } = useQuery({
    queryKey: ["tasks", sessionId, "table", entry.seq],
    queryFn: () => said(api.GET("/sessions/{id}/tasks", { params: { path: { id: sessionId } } })),
    refetchInterval: ({ state }) =>
      state.data && inTable(entry, state.data.tasks, shownAt).behind ? AGAIN_MS : false,
  });
  return (
    <dl className="hairline-b m-0 flex shrink-0 flex-wrap gap-x-4 px-3 pb-2 text-small [&>div]:flex [&>div]:gap-1">
      <Fact name="In Tasks" words={onPage(entry, shownAt)} />
      <Fact name="Server's table" words={data ? inTable(entry, data.tasks, shownAt).words : "…"} />
    </dl>
  );
}

function Fact({ name, words }: { name: string; words: string }) {
  return (
    <div>
      <dt className="text-ink-3">{name}:</dt>
      <dd className="m-0">{words}</dd>
    </div>
  );
}
