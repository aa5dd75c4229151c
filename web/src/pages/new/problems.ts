/** Form validation, and the mapping of server errors to fields. Pure. */
import { ApiError, errorMessage } from "@/api/client";
import type { Draft } from "@/state/newSessionDraft";

export type Field =
  | "cwd"
  | "prompt"
  | "workflow"
  | "engine"
  | "model"
  | "permission"
  | "branch"
  | "turns"
  | "budget"
  | "all";
export type Problems = Partial<Record<Field, string>>;

export function validate(draft: Draft, images: number): Problems {
  const found: Problems = {};
  if (!draft.cwd.trim()) found.cwd = "Choose a directory.";
  else if (!/^[/~]/.test(draft.cwd.trim())) found.cwd = "Enter an absolute path, starting with / or ~.";
  if (!draft.prompt.trim() && images === 0) found.prompt = "Enter a task.";
  if (draft.turns.trim() && !/^[1-9]\d{0,5}$/.test(draft.turns.trim()))
    found.turns = "A whole number, at least 1.";
  if (draft.budget.trim() && !(Number(draft.budget) > 0)) found.budget = "An amount above 0, such as 2.50.";
  return found;
}

/** Whether a model has to be chosen: there is no default. */
export function isModelNeeded(config: { default_model: string }, engine: string): boolean {
  return engine === "native" && !config.default_model;
}

const NAMES: Record<string, Field> = {
  cwd: "cwd",
  prompt: "prompt",
  images: "prompt",
  workflow: "workflow",
  engine: "engine",
  model: "model",
  permission_mode: "permission",
  worktree: "branch",
  branch: "branch",
  base: "branch",
  max_turns: "turns",
  max_budget_usd: "budget",
};
/** Patterns that map server messages without a field name to a field; the first match counts. */
const SIGNS: [RegExp, Field][] = [
  [/permission mode|asks less|cannot be in/i, "permission"],
  [/work ?tree|branch|git|commit/i, "branch"],
  [/engine/i, "engine"],
  [/model|key|provider/i, "model"],
  [/turns/i, "turns"],
  [/budget/i, "budget"],
  [/image|picture|too large|message/i, "prompt"],
  [/director|path|roots/i, "cwd"],
];

export function problemsFrom(error: unknown): Problems {
  const message = errorMessage(error);
  if (!(error instanceof ApiError) || error.status === 0 || error.status >= 500) return { all: message };
  const named = NAMES[String(error.details.field ?? "")] ?? NAMES[message.match(/\$\.(\w+)/)?.[1] ?? ""];
  if (named) return { [named]: message };
  if (Array.isArray(error.details.roots)) return { cwd: message };
  const sign = SIGNS.find(([pattern]) => pattern.test(message));
  return { [sign?.[1] ?? "all"]: message };
}
