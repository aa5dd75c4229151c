import { expect, it } from "vitest";
import type { WorkerState } from "@/api/types";
import { workerSummary } from "./workers";

const worker = { id: "agent-1", kind: "process", state: "running", epoch: 2, pid: 7 };

it("tells what should be of an agent, when it was last seen and looked after, and how often it failed (S003-25)", () => {
  const now = Date.now() / 1000;
  const state = {
    worker,
    alive: true,
    desired: "running",
    heartbeat: now - 65,
    reconciled_at: now - 125,
    failures: 1,
  };
  expect(workerSummary(state as WorkerState)).toBe(
    "epoch 2, pid 7, desired: running, heartbeat 1m ago, reconciled 2m ago, failed 1 times",
  );
  const ended = { worker: { ...worker, pid: 0, error: "It broke." }, alive: false, heartbeat: now };
  expect(workerSummary(ended as WorkerState)).toBe("epoch 2: It broke.");
});
