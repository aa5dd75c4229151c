/** What "always allow" would store: the rule, where, and for how long. */
import type { DecisionBody, InteractionOpened } from "@/api/types";

export type Reach = Exclude<DecisionBody["scope"], "once" | undefined>;

export interface AlwaysRule {
  /** For the button: `pytest …`. */
  short: string;
  /** The rule as it is stored. */
  stored: string;
  reaches: readonly { reach: Reach; label: string; about: string }[];
}

const REACHES: readonly { reach: Reach; label: string; until: string }[] = [
  { reach: "session", label: "In this session", until: "until it ends" },
  {
    reach: "project",
    label: "In this project",
    until: "until you remove it; in its settings on this machine",
  },
  { reach: "user", label: "In all projects", until: "until you remove it; in your own settings" },
];

/** Chooses as the server does: the first rule, else the first suggestion. */
export function alwaysRuleOf(opened: InteractionOpened, trusted = true): AlwaysRule | null {
  // Destructive calls are approved one by one.
  if (opened.destructive) return null;
  const all = opened.suggestions ?? [];
  const chosen = all.find((each) => each.type === "addRules") ?? all[0];
  if (!chosen) return null;
  const { type, rules, directories, mode } = chosen as Record<string, unknown>;
  if (type === "setMode" && typeof mode === "string") return modeFor(mode);
  if (type === "addDirectories" && Array.isArray(directories)) {
    const names = directories.map(String).join(", ");
    return { short: `work in ${names}`, stored: `Work in ${names}`, reaches: reachOf(trusted) };
  }
  if (type !== "addRules" || !Array.isArray(rules) || rules.length === 0) return null;
  const texts = rules.map(ruleText);
  return { short: rules.map(ruleLabel).join(", "), stored: texts.join(", "), reaches: reachOf(trusted) };
}

/** Allow rules of an untrusted directory have no effect yet. */
function reachOf(trusted: boolean): AlwaysRule["reaches"] {
  return REACHES.map(({ reach, label, until }) => ({
    reach,
    label,
    about: reach === "project" && !trusted ? "takes effect after you trust this directory" : until,
  }));
}

/** A mode always belongs to the session. */
function modeFor(mode: string): AlwaysRule {
  const label = mode === "acceptEdits" ? "Accept edits" : `Continue in mode ${mode}`;
  return {
    short: mode === "acceptEdits" ? "edits" : mode,
    stored: label,
    reaches: [{ reach: "session", label: "In this session", about: "until you choose another mode" }],
  };
}

function ruleText(rule: unknown): string {
  const { toolName, ruleContent } = (rule ?? {}) as Record<string, unknown>;
  return ruleContent ? `${String(toolName)}(${String(ruleContent)})` : String(toolName ?? "");
}

function ruleLabel(rule: unknown): string {
  const { toolName, ruleContent } = (rule ?? {}) as Record<string, unknown>;
  if (!ruleContent) return String(toolName ?? "");
  const content = String(ruleContent);
  return content.endsWith(":*") ? `${content.slice(0, -2)} …` : content.replace(/^domain:/, "");
}
