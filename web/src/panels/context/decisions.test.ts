import { describe, expect, it } from "vitest";
import type { DurableEvent } from "@/api/types";
import { Fold } from "@/state/fold";
import type { Entry } from "@/stream/frames";
import { decisionsOf } from "./decisions";

let seq = 0;
const entry = (event: object, at: number): Entry => {
  seq += 1;
  return {
    seq,
    id: `e${seq}`,
    parent: "",
    at,
    event: event as DurableEvent,
    agent: "",
    parentCall: "",
  };
};
const call = (id: string, name: string, input: object) => ({ type: "tool_call", id, name, input });
const done = (id: string, decided: object) => ({
  type: "tool_done",
  reply: { type: "tool_reply", call_id: id, content: [] },
  decided,
});

describe("who decided what", () => {
  it("names people, rules and what waits, the newest first, each call once", () => {
    seq = 0;
    const fold = new Fold();
    const bash = call("c1", "Bash", { command: "pytest -q\nrm x" });
    fold.apply([
      entry({ type: "block_done", message_id: "m", index: 0, block: bash }, 1),
      entry({ type: "interaction_opened", id: "i1", kind: "permission", call: bash, reason: "no rule" }, 2),
      entry({ type: "interaction_closed", id: "i1", outcome: "denied", by: "ada", message: "Not now." }, 3),
      entry(done("c1", { verdict: "reject", source: "user" }), 4),
      entry(
        { type: "block_done", message_id: "m", index: 1, block: call("c2", "Read", { file_path: "/a" }) },
        5,
      ),
      entry(done("c2", { verdict: "accept", source: "project", reason_type: "rule", why: "Read(/a)" }), 6),
      entry({ type: "interaction_opened", id: "i2", kind: "question", call: call("c3", "Ask", {}) }, 7),
    ]);
    expect(
      decisionsOf(fold).map(({ tool, about, outcome, by, why }) => [tool, about, outcome, by, why]),
    ).toEqual([
      ["Question", "", "open", "", ""],
      ["Read", "/a", "allowed", "a rule (project)", "Read(/a)"],
      ["Bash", "pytest -q", "denied", "ada", "Not now."],
    ]);
  });
});
