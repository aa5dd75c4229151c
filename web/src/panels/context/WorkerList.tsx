/** Processes of a session with their state, stop and restart. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, errorMessage, unwrap } from "@/api/client";
import type { SessionView, WorkerState } from "@/api/types";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Section } from "../Section";
import { workerSummary } from "./workers";

const KINDS: Record<WorkerState["worker"]["kind"], string> = {
  native: "Agent",
  process: "Agent (external)",
  terminal: "Terminal",
  git_diff: "Diff watcher",
};
const STATES: Record<WorkerState["worker"]["state"], string> = {
  starting: "text-running",
  running: "text-running",
  stopped: "text-ink-3",
  exited: "text-ink-3",
  error: "text-failed",
};

export function WorkerList({ session }: { session: SessionView }) {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const queries = useQueryClient();
  const shape = session.workers.map((each) => `${each.id}/${each.state}/${each.epoch}`).join(" ");
  const { data, error } = useQuery({
    queryKey: ["workers", session.id, shape],
    queryFn: () => unwrap(api.GET("/sessions/{id}/workers", { params: { path: { id: session.id } } })),
  });
  const act = async (worker_id: string, what: "stop" | "restart") => {
    const params = { path: { id: session.id, worker_id } };
    try {
      if (what === "stop") await unwrap(api.POST("/sessions/{id}/workers/{worker_id}/stop", { params }));
      else await unwrap(api.POST("/sessions/{id}/workers/{worker_id}/restart", { params }));
    } catch (problem) {
      showError(problem);
    }
    void queries.invalidateQueries({ queryKey: ["workers", session.id] });
  };
  const workers = data?.workers ?? [];
  return (
    <Section title="Processes" number={workers.filter((each) => each.alive).length} open={false}>
      {error && <p className="m-0 px-3 text-ink-2">{errorMessage(error)}</p>}
      {workers.length === 0 && (
        <p className="m-0 px-3 text-ink-3">No running processes. The next message starts the agent.</p>
      )}
      <ul className="m-0 list-none p-0">
        {workers.map((each) => (
          <Line
            key={each.worker.id}
            state={each}
            allowed={allowed}
            onAct={(what) => void act(each.worker.id, what)}
          />
        ))}
      </ul>
    </Section>
  );
}

interface LineProps {
  state: WorkerState;
  allowed: boolean;
  onAct: (what: "stop" | "restart") => void;
}

function Line({ state, allowed, onAct }: LineProps) {
  const { worker, alive, current_task } = state;
  const agent = worker.kind === "native" || worker.kind === "process";
  return (
    <li className="px-3 py-1">
      <div className="flex min-h-7 items-center gap-2">
        <span className="min-w-0 flex-1 truncate">{KINDS[worker.kind]}</span>
        <span className={`text-small ${STATES[worker.state]}`}>{worker.state}</span>
        {allowed && alive && (
          <Button look="quiet" className="h-6 px-1.5 text-small" onClick={() => onAct("stop")}>
            Stop
          </Button>
        )}
        {allowed && agent && (
          <Button look="quiet" className="h-6 px-1.5 text-small" onClick={() => onAct("restart")}>
            Restart
          </Button>
        )}
      </div>
      <p className="tabular m-0 text-small break-words text-ink-3">{workerSummary(state)}</p>
      {agent && alive && current_task && (
        <p className="m-0 text-small break-words text-ink-2">Current task: {current_task.title}</p>
      )}
    </li>
  );
}
