/** Collects the decisions of a session by people, rules, modes and hooks, the newest first. */
import type { Fold } from "@/state/fold";
import type { InteractionState, ToolRow } from "@/state/rows";

export interface Decision {
  id: string;
  at: number;
  tool: string;
  about: string;
  outcome: "allowed" | "denied" | "cancelled" | "open";
  /** A person, rule, mode or hook. */
  by: string;
  why: string;
}

const REASONS: Record<string, string> = {
  rule: "a rule",
  mode: "the mode",
  hook: "a hook",
  safety: "a guard",
  default: "the default",
  remembered: "an earlier answer",
  sandbox: "the sandbox",
  judge: "auto mode",
  classifier: "auto mode",
};

/** Scans every row: not to be called for every event. */
export function decisionsOf(fold: Fold): Decision[] {
  const found: Decision[] = [];
  const asked = new Set<string>();
  for (const state of fold.interactions.values()) {
    asked.add(state.opened.call.id);
    found.push(ofPerson(state));
  }
  for (const row of fold.rows.values()) {
    if (row.kind === "tool" && row.decided && !asked.has(row.id)) found.push(ofRule(row, row.decided));
  }
  return found.sort((a, b) => b.at - a.at);
}

function ofPerson(state: InteractionState): Decision {
  const { call, kind, reason } = state.opened;
  return {
    id: state.id,
    at: state.openedAt,
    tool: kind === "question" ? "Question" : kind === "plan" ? "Plan" : call.name,
    about: aboutInput(call.input),
    outcome: state.outcome || "open",
    by: state.by || (state.outcome === "cancelled" ? "nobody" : ""),
    why: state.message || reason || "",
  };
}

function ofRule(row: ToolRow, decided: NonNullable<ToolRow["decided"]>): Decision {
  return {
    id: row.id,
    at: row.at,
    tool: row.name,
    about: aboutInput(row.input),
    outcome: decided.verdict === "accept" ? "allowed" : "denied",
    by: whoDecided(decided),
    why: decided.why ?? "",
  };
}

function whoDecided({ source = "", reason_type = "" }: NonNullable<ToolRow["decided"]>): string {
  if (source.startsWith("user_")) return "a person";
  const who = REASONS[reason_type] ?? source;
  return reason_type === "rule" && source && source !== "config" ? `${who} (${source})` : who;
}

function aboutInput(input: Record<string, unknown>): string {
  for (const key of ["command", "file_path", "path", "url", "pattern", "query", "description"]) {
    const value = input[key];
    if (typeof value === "string" && value) return value.split("\n")[0]?.slice(0, 200) ?? "";
  }
  return "";
}
