/** What "always" would mean: the very rule that would be stored, where, and how long it holds. */
import type { InteractionOpened, Verdict } from "@/api/types";

export type Reach = Exclude<Verdict["scope"], "once" | undefined>;

export interface Lasting {
  /** For the button: `pytest …`. */
  short: string;
  /** What is stored, as it is stored. */
  stored: string;
  reaches: readonly { reach: Reach; label: string; about: string }[];
}

const PLACES: readonly { reach: Reach; label: string; until: string }[] = [
  { reach: "session", label: "In this session", until: "until it ends" },
  {
    reach: "project",
    label: "In this project",
    until: "until you remove it; in its settings on this machine",
  },
  { reach: "user", label: "In all projects", until: "until you remove it; in your own settings" },
];

/** The same choice the server makes: the first rule, else the first of what was suggested. */
export function lastingOf(opened: InteractionOpened, trusted = true): Lasting | null {
  // What is destroyed cannot be brought back: each such call is decided on its own.
  if (opened.destructive) return null;
  const all = opened.suggestions ?? [];
  const chosen = all.find((each) => each.type === "addRules") ?? all[0];
  if (!chosen) return null;
  const { type, rules, directories, mode } = chosen as Record<string, unknown>;
  if (type === "setMode" && typeof mode === "string") return modeFor(mode);
  if (type === "addDirectories" && Array.isArray(directories)) {
    const names = directories.map(String).join(", ");
    return { short: `work in ${names}`, stored: `Work in ${names}`, reaches: places(trusted) };
  }
  if (type !== "addRules" || !Array.isArray(rules) || rules.length === 0) return null;
  const texts = rules.map(ruleText);
  return { short: rules.map(ruleWords).join(", "), stored: texts.join(", "), reaches: places(trusted) };
}

/** A directory nobody trusts may only restrict: what it allows counts for nothing yet. */
function places(trusted: boolean): Lasting["reaches"] {
  return PLACES.map(({ reach, label, until }) => ({
    reach,
    label,
    about: reach === "project" && !trusted ? "kept, but it counts only once you trust this directory" : until,
  }));
}

/** A mode is a matter of the session, wherever it would be stored. */
function modeFor(mode: string): Lasting {
  const label = mode === "acceptEdits" ? "Accept edits without asking" : `Go on in the mode ${mode}`;
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

function ruleWords(rule: unknown): string {
  const { toolName, ruleContent } = (rule ?? {}) as Record<string, unknown>;
  if (!ruleContent) return String(toolName ?? "");
  const content = String(ruleContent);
  return content.endsWith(":*") ? `${content.slice(0, -2)} …` : content.replace(/^domain:/, "");
}
