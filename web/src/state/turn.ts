/** The running totals of a turn. */
import type { Usage } from "@/api/types";

export interface TurnState {
  turn: number;
  startedAt: number;
  steps: number;
  tools: number;
  usage: Usage;
  cost: number;
  /** Milliseconds spent waiting for a person. */
  waited: number;
  /** Requests a person has yet to decide, and since when there has been one. */
  pendingRequests: Set<string>;
  pendingSince: number;
}

export function emptyTurn(turn: number, startedAt: number): TurnState {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };
  return {
    turn,
    startedAt,
    steps: 0,
    tools: 0,
    usage,
    cost: 0,
    waited: 0,
    pendingRequests: new Set(),
    pendingSince: 0,
  };
}
