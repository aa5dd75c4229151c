/** One-line summary of a worker's record. */
import type { WorkerState } from "@/api/types";
import { ago } from "@/format/values";

export function workerSummary({ worker, alive, ...state }: WorkerState): string {
  const { desired = "", heartbeat = 0, reconciled_at = 0, failures = 0 } = state;
  const parts = [
    `epoch ${worker.epoch}`,
    worker.pid ? `pid ${worker.pid}` : "",
    desired ? `desired: ${desired}` : "",
    heartbeat > 0 && alive ? `heartbeat ${ago(heartbeat)} ago` : "",
    reconciled_at > 0 && alive ? `reconciled ${ago(reconciled_at)} ago` : "",
    failures > 0 ? `failed ${failures} times` : "",
  ];
  return parts.filter(Boolean).join(", ") + (worker.error ? `: ${worker.error}` : "");
}
