/** Which field an error belongs to: what the page sees itself, and what the server says. Pure. */
import { ApiProblem, wordsOf } from "@/api/client";
import type { Draft } from "./draft";

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

export function seen(draft: Draft, images: number): Problems {
  const found: Problems = {};
  if (!draft.cwd.trim()) found.cwd = "Choose the directory to work in.";
  else if (!/^[/~]/.test(draft.cwd.trim())) found.cwd = "Give the whole path, beginning with / or ~.";
  if (!draft.prompt.trim() && images === 0) found.prompt = "Enter a task.";
  if (draft.turns.trim() && !/^[1-9]\d{0,5}$/.test(draft.turns.trim()))
    found.turns = "A whole number, at least 1.";
  if (draft.budget.trim() && !(Number(draft.budget) > 0)) found.budget = "An amount above 0, such as 2.50.";
  return found;
}

/** Without any key there is no model that could be meant by none. */
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
/** Words by which the server's sentences can be told apart where they name no field; the first that fits. */
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

export function told(error: unknown): Problems {
  const words = wordsOf(error);
  if (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500) return { all: words };
  const named = NAMES[String(error.details.field ?? "")] ?? NAMES[words.match(/\$\.(\w+)/)?.[1] ?? ""];
  if (named) return { [named]: words };
  if (Array.isArray(error.details.roots)) return { cwd: words };
  const sign = SIGNS.find(([pattern]) => pattern.test(words));
  return { [sign?.[1] ?? "all"]: words };
}
