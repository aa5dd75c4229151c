/** Sessions for tests: everything as the server leaves it, but for what a test is about. */
import type { InteractionView, SessionView } from "@/api/types";

const NOTHING = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

export function session(id: string, more: Partial<SessionView> & { project?: string } = {}): SessionView {
  const { project = "", ...rest } = more;
  return {
    id,
    title: id,
    cwd: "/home/ada/shop",
    status: "completed",
    error: "",
    activity: "idle",
    config: { engine: "native", workflow: "chat", branch: "", project } as SessionView["config"],
    model: "",
    permission_mode: "default",
    parent: "",
    created_at: 0,
    updated_at: 0,
    ended_at: 0,
    first_prompt: "",
    last_prompt: "",
    draft: "",
    archived: false,
    pinned: false,
    turns: 0,
    steps: 0,
    usage: NOTHING,
    last_usage: NOTHING,
    cost: 0,
    context: 0,
    context_limit: 168_000,
    interactions: [],
    queued: [],
    workers: [],
    background: [],
    open_calls: [],
    tasks_done: 0,
    tasks_total: 0,
    seq: 1,
    head: "",
    elsewhere: false,
    ...rest,
  } as SessionView;
}

export function request(
  id: string,
  openedAt: number,
  kind: InteractionView["kind"] = "permission",
): InteractionView {
  return {
    id,
    kind,
    call_id: `call-${id}`,
    tool: "Bash",
    input_sha256: "",
    opened_at: openedAt,
    agent: "",
    reason: "",
    agent_name: "",
  };
}

export function byId(...sessions: SessionView[]): Record<string, SessionView> {
  return Object.fromEntries(sessions.map((each) => [each.id, each]));
}
