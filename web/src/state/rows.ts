/** Row types of a transcript. Rows are immutable: a new object replaces the old one, so that only it renders again. */
import type { Cut, InteractionOpened, RunDone, Task, ToolDone, Usage } from "@/api/types";
import type { Missing } from "./cuts";

interface Common {
  /** Stable: the id of the block, the call or the entry it shows. */
  id: string;
  /** Sequence number in the log; 0 while it is not stored. */
  seq: number;
  /** The id of the log entry, as forks and links use it. */
  entry: string;
  at: number;
  turn: number;
  /** A later rewind removed this from the conversation. */
  superseded?: boolean;
  /** The call of the sub-agent it belongs to. */
  parentCall: string;
  agent: string;
}

export interface RowImage {
  mediaType: string;
  data: string;
}

export interface UserRow extends Common {
  kind: "user";
  text: string;
  images: RowImage[];
  origin: "human" | "harness" | "hook";
  why: string;
  clientId: string;
}

export interface TextRow extends Common {
  kind: "text";
  text: string;
  /** The cut and the end of a cut text; `text` is then its beginning. */
  cut: Cut | null;
  streaming: boolean;
  partial: boolean;
  model: string;
}

export interface ThinkingRow extends Common {
  kind: "thinking";
  text: string;
  cut: Cut | null;
  streaming: boolean;
  redacted: boolean;
}

export type ToolStatus =
  | "writing"
  | "pending"
  | "running"
  | "completed"
  | "error"
  | "denied"
  | "interrupted"
  | "no_call";

export interface ToolRow extends Common {
  kind: "tool";
  name: string;
  /** The input that runs or ran, after changes by people or hooks. */
  input: Record<string, unknown>;
  /** The partial JSON of the input while the model writes it. */
  writing: string;
  status: ToolStatus;
  /** The result as the model reads it. */
  output: string;
  images: RowImage[];
  /** Structured result for display; its shape depends on the tool. */
  display: unknown;
  /** The end of a running command's output. */
  tail: string;
  /** Characters it has printed so far. */
  printed: number;
  startedAt: number;
  durationMs: number;
  decided: ToolDone["decided"];
  added: number;
  removed: number;
  /** The approval request for it, if there is or was one. */
  interaction: InteractionState | null;
  malformed: string;
  /** How it ended, by its result; known even before its call arrives. */
  settled: ToolStatus | "";
  /** What was cut from its texts. */
  missing: { input: Missing; output: Missing; display: Missing };
}

export interface InteractionState {
  id: string;
  opened: InteractionOpened;
  openedAt: number;
  /** `opened` was cut: the full request has to be loaded before anybody decides. */
  cut: boolean;
  outcome: "" | "allowed" | "denied" | "cancelled";
  by: string;
  message: string;
}

export interface NoticeRow extends Common {
  kind: "notice";
  level: "info" | "notice" | "warning" | "error";
  text: string;
}

export type MarkOf =
  | "pruned"
  | "rewind"
  | "model"
  | "mode"
  | "workflow"
  | "terminal"
  | "console"
  | "forked"
  | "advised"
  | "stopping";

export interface MarkRow extends Common {
  kind: "mark";
  of: MarkOf;
  text: string;
}

export interface TurnRow extends Common {
  kind: "turn";
  ending: RunDone["ending"];
  text: string;
  error: string;
  /** Without `waitedMs`. */
  durationMs: number;
  /** Milliseconds spent waiting for a person. */
  waitedMs: number;
  steps: number;
  tools: number;
  usage: Usage;
  cost: number;
}

export interface ArtifactRow extends Common {
  kind: "artifact";
  of: "research" | "plan" | "review";
  title: string;
  text: string;
}

export interface UnknownRow extends Common {
  kind: "unknown";
  name: string;
  data: unknown;
}

export type Row =
  | UserRow
  | TextRow
  | ThinkingRow
  | ToolRow
  | NoticeRow
  | MarkRow
  | TurnRow
  | ArtifactRow
  | UnknownRow;

/** One line of the list: a row, or a group of read-only calls. */
export type Item = { id: string; rows: string[]; group: boolean };

export interface Tasks {
  tasks: Task[];
  at: number;
}

/** Read-only tools: consecutive calls are grouped as "Explored 7 files". */
const READ_ONLY_TOOLS = new Set(["Read", "Glob", "Grep", "LS"]);

export function isReadOnlyTool(name: string): boolean {
  return READ_ONLY_TOOLS.has(name);
}

export function isOver(status: ToolStatus): boolean {
  return status !== "writing" && status !== "pending" && status !== "running";
}
