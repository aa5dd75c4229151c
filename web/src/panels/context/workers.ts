/** The record of a worker in words: which one it is, what should be, and when somebody last looked. */
import type { WorkerState } from "@/api/types";
import { ago } from "@/words/format";

export function workerWords({ worker, alive, ...state }: WorkerState): string {
  const { desired = "", heartbeat = 0, reconciled_at = 0, failures = 0 } = state;
  const words = [
    `epoch ${worker.epoch}`,
    worker.pid ? `pid ${worker.pid}` : "",
    desired ? `should be ${desired}` : "",
    heartbeat > 0 && alive ? `heard of ${ago(heartbeat)} ago` : "",
    reconciled_at > 0 && alive ? `looked after ${ago(reconciled_at)} ago` : "",
    failures > 0 ? `failed ${failures} times` : "",
  ];
  return words.filter(Boolean).join(", ") + (worker.error ? `: ${worker.error}` : "");
}
