/** Order and words of agents and commands in the background. */
import type { BackgroundView } from "@/api/types";

export function isGoing({ state }: BackgroundView): boolean {
  return state === "running" || state === "paused";
}

/** What no call waits for: those that run in the order they began, then those that ended, the last one first. */
export function backgroundList(all: readonly BackgroundView[]): BackgroundView[] {
  const own = all.filter((each) => !each.is_awaited);
  const ended = own.filter((each) => !isGoing(each));
  return [
    ...own.filter(isGoing).sort((a, b) => a.started_at - b.started_at),
    ...ended.sort((a, b) => (b.ended_at ?? 0) - (a.ended_at ?? 0)),
  ];
}

/** What it is: the type of an agent, or a command; and which sub-agent started it. */
export function kindOf(item: BackgroundView, all: readonly BackgroundView[]): string {
  const kind = item.kind === "agent" ? item.agent_type || "Agent" : "Command";
  const starter = item.agent ? all.find((each) => each.id === item.agent) : undefined;
  return starter ? `${kind}, started by ${starter.agent_type || "an agent"}` : kind;
}
