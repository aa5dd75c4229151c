/** What a transcript is made of. A row is never changed: a newer one takes its place, so that only it is drawn again. */
import type { Cut, InteractionOpened, RunDone, Task, ToolDone, Usage } from "@/api/types";
import type { Missing } from "./cuts";

interface Common {
  /** Stable for ever: of the block, the call or the entry it shows. */
  id: string;
  /** Where in the log it stands; 0 while it is only being said. */
  seq: number;
  /** The id of the log's entry: what forks and links name. */
  entry: string;
  at: number;
  turn: number;
  /** A later rewind left this out of the talk. */
  superseded?: boolean;
  /** The call of the sub-agent that said it. */
  parentCall: string;
  agent: string;
}

export interface Picture {
  mediaType: string;
  data: string;
}

export interface UserRow extends Common {
  kind: "user";
  text: string;
  pictures: Picture[];
  origin: "human" | "harness" | "hook";
  why: string;
  clientId: string;
}

export interface TextRow extends Common {
  kind: "text";
  text: string;
  /** Its end, where it came without its middle: then `text` is its beginning. */
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
  /** What is or was really run, where people or hooks changed it. */
  input: Record<string, unknown>;
  /** The JSON of the input as far as it came, while the model writes it. */
  writing: string;
  status: ToolStatus;
  /** The answer the model reads. */
  output: string;
  pictures: Picture[];
  /** For people; the shape belongs to the tool. */
  display: unknown;
  /** The end of what a running command printed. */
  tail: string;
  /** Characters it has printed so far. */
  printed: number;
  startedAt: number;
  durationMs: number;
  decided: ToolDone["decided"];
  added: number;
  removed: number;
  /** A person is or was asked about it. */
  interaction: InteractionState | null;
  malformed: string;
  /** How it ended, by its result; also while its call has not come yet. */
  settled: ToolStatus | "";
  /** What did not come of its texts. */
  missing: { input: Missing; output: Missing; display: Missing };
}

export interface InteractionState {
  id: string;
  opened: InteractionOpened;
  openedAt: number;
  /** `opened` did not come whole: nobody decides on half of something. */
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
  /** For how long it waited for a person. */
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

/** One line of the list: a row, or a run of looking around folded to one. */
export type Item = { id: string; rows: string[]; group: boolean };

export interface Tasks {
  tasks: Task[];
  at: number;
}

/** Tools that only look: runs of them are folded to "Explored 7 files". */
const LOOKING = new Set(["Read", "Glob", "Grep", "LS"]);

export function isLooking(name: string): boolean {
  return LOOKING.has(name);
}

export function isOver(status: ToolStatus): boolean {
  return status !== "writing" && status !== "pending" && status !== "running";
}
