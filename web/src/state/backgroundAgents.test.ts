import { expect, test } from "vitest";
import type { Entry } from "@/stream/frames";
import { Fold } from "./fold";

let seq = 0;

function entry(event: object): Entry {
  seq += 1;
  return { seq, id: `e${seq}`, parent: "", at: seq, event, agent: "", parentCall: "" } as Entry;
}

function opened(id: string, agent: string, name = "Bash"): Entry {
  const call = { type: "tool_call", id: `call-${id}`, name, input: {} };
  return entry({ type: "interaction_opened", id, kind: "permission", call, agent });
}

test("requests of agents in the background and of MCP servers stay open when the turn ends (H2-8)", () => {
  const fold = new Fold();
  fold.apply([
    entry({ type: "agent_started", id: "waits", call_id: "a", agent_type: "Plan", description: "" }),
    entry({
      type: "agent_started",
      id: "goes-on",
      call_id: "b",
      agent_type: "Plan",
      description: "",
      background: true,
    }),
    opened("own", ""),
    opened("awaited", "waits"),
    opened("background", "goes-on"),
    opened("server", "", "Elicitation"),
    entry({ type: "run_done", ending: "completed" }),
  ]);
  const outcomes = Object.fromEntries([...fold.interactions].map(([id, each]) => [id, each.outcome]));
  expect(outcomes).toEqual({ own: "cancelled", awaited: "cancelled", background: "", server: "" });
  fold.apply([
    entry({
      type: "agent_ended",
      id: "goes-on",
      call_id: "b",
      agent_type: "Plan",
      description: "",
      status: "killed",
    }),
    entry({ type: "run_done", ending: "completed" }),
  ]);
  expect(fold.interactions.get("background")?.outcome).toBe("cancelled");
});
