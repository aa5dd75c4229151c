/** What each kind of stored entry does to a transcript. A kind nobody knows becomes a row of its own (S000-13). */
import type { Block, Cut, Usage } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { endTool, toolCalled, toolDone, toolStarted } from "./calls";
import { bridged, cutAt } from "./cuts";
import { type Fold, noTurn } from "./fold";
import type { InteractionState, MarkOf, Picture } from "./rows";

export type Of<T extends Entry["event"]["type"]> = Extract<Entry["event"], { type: T }>;

export function applyEntry(fold: Fold, entry: Entry): void {
  noticeRewind(fold, entry);
  const event = bridged(entry.event, entry.cuts);
  switch (event.type) {
    case "prompted":
      return prompted(fold, entry, event);
    case "turn_started":
      fold.turn = noTurn(event.turn, entry.at);
      return;
    case "block_done":
      return blockDone(fold, entry, event);
    case "message_done":
      return messageDone(fold, entry, event);
    case "interaction_opened":
      return opened(fold, entry, event);
    case "interaction_closed":
      return closed(fold, entry, event);
    case "tool_started":
      return toolStarted(fold, entry, event);
    case "tool_done":
      return toolDone(fold, entry, event);
    case "tasks_replaced":
      fold.tasks = { tasks: event.tasks, at: entry.at };
      return;
    case "run_done":
      return runDone(fold, entry, event);
    case "noted":
      return fold.put({
        ...common(fold, entry),
        kind: "notice",
        level: event.level ?? "info",
        text: event.text,
      });
    case "hook_ran":
      if (event.text || event.outcome === "error") {
        const level = event.outcome === "error" ? "warning" : "info";
        fold.put({
          ...common(fold, entry),
          kind: "notice",
          level,
          text: `${event.event} hook: ${event.text || event.outcome}`,
        });
      }
      return;
    case "advised":
      return mark(
        fold,
        entry,
        "advised",
        `Auto mode: ${event.verdict}${event.reason ? `: ${event.reason}` : ""}`,
      );
    case "pruned":
      return mark(fold, entry, "pruned", prunedText(event.call_ids.length, event.tokens ?? 0));
    case "mode_changed":
      return mark(fold, entry, "mode", event.mode);
    case "model_changed":
      return mark(fold, entry, "model", event.why === "fallback" ? `${event.model} (fallback)` : event.model);
    case "worker_started":
      return worker(fold, entry, event);
    case "worker_exited":
      // That changes cannot be watched is told where they are shown.
      // Of a lost worker the turn tells it, too.
      if (event.error && event.kind !== "git_diff" && event.why !== "lost")
        fold.put({ ...common(fold, entry), kind: "notice", level: levelOf(event.why), text: event.error });
      return;
    case "interrupt_asked":
      return mark(fold, entry, "stopping", event.by);
    case "artifact_made":
      return fold.put({
        ...common(fold, entry),
        kind: "artifact",
        of: event.kind,
        title: event.title,
        text: event.text,
      });
    case "session_started":
      if (event.forked_from) mark(fold, entry, "forked", event.forked_from);
      return;
    case "configured":
    case "session_changed":
    case "permissions_changed":
    case "input_queued":
    case "input_dropped":
    case "background_started":
      return; // told by the session's own state, or by the call that started it
    case "background_ended":
      if (event.tell === "no") return;
      return fold.put({
        ...common(fold, entry),
        kind: "notice",
        level: event.status === "completed" ? "info" : "warning",
        text: `Background command "${event.title}": ${event.status}`,
      });
    case "raw":
      if (isInit(event.data)) return; // told by the context panel
      return fold.put({
        ...common(fold, entry),
        kind: "unknown",
        name: nameOf(event.data),
        data: event.data,
      });
    default:
      return unknown(fold, entry);
  }
}

/** A server that ended in good order is no failure of the worker's. */
function levelOf(why: Of<"worker_exited">["why"]): "info" | "error" {
  return why === "stopped" ? "info" : "error";
}

function unknown(fold: Fold, entry: Entry): void {
  const data: unknown = entry.event;
  fold.put({ ...common(fold, entry), kind: "unknown", name: nameOf(data), data });
}

function isInit(data: unknown): boolean {
  const said = data as { type?: unknown; subtype?: unknown } | null;
  return said?.type === "system" && said.subtype === "init";
}

function nameOf(data: unknown): string {
  const type = (data as { type?: unknown } | null)?.type;
  return typeof type === "string" ? type : "unknown";
}

export function common(fold: Fold, entry: Entry, id = entry.id) {
  const { seq, at, parentCall, agent } = entry;
  return { id, seq, entry: entry.id, at, turn: fold.turn.turn, parentCall, agent };
}

/** An entry that does not follow the last one goes on from an earlier place: what lies between is no longer part of the talk. */
function noticeRewind(fold: Fold, entry: Entry): void {
  if (!entry.parent || !fold.lastEntry || entry.parent === fold.lastEntry || entry.parentCall) return;
  const place = fold.seqs.get(entry.parent);
  if (place === undefined) return;
  for (const row of fold.rows.values()) {
    if (row.seq > place && !row.superseded) fold.put({ ...row, superseded: true });
  }
  fold.put({ ...common(fold, entry, `rewind-${entry.id}`), kind: "mark", of: "rewind", text: "" });
}

function prompted(fold: Fold, entry: Entry, event: Of<"prompted">): void {
  // For the model alone: how the turn ended, and why, is told by the turn itself.
  if (event.origin === "harness" && event.why === "interrupt") return;
  const { text, pictures } = readable(event.blocks);
  fold.put({
    ...common(fold, entry, event.id || entry.id),
    kind: "user",
    text,
    pictures,
    origin: event.origin ?? "human",
    why: event.why ?? "",
    clientId: event.client_id ?? "",
  });
}

function blockDone(fold: Fold, entry: Entry, event: Of<"block_done">): void {
  const id = `${event.message_id}/${event.index}`;
  const block = event.block;
  fold.activity = null;
  const before = fold.rows.get(id);
  const base = { ...common(fold, entry, id), at: before?.at ?? entry.at };
  if (block.type === "tool_call") {
    if (before && before.id !== block.id && before.seq === 0) fold.drop(id);
    fold.calls.delete(id);
    toolCalled(fold, entry, block);
    return;
  }
  fold.open.delete(id);
  if (block.type === "text") {
    const { model = "", partial = false } = event;
    fold.put({ ...base, kind: "text", ...endsOf(entry, block), streaming: false, partial, model });
  } else if (block.type === "thinking") {
    fold.put({
      ...base,
      kind: "thinking",
      ...endsOf(entry, block),
      streaming: false,
      redacted: block.redacted ?? false,
    });
  } else {
    unknown(fold, entry);
  }
}

/** Of a long text the beginning, and the end as it came beside it. */
function endsOf({ event, cuts }: Entry, block: { text: string }): { text: string; cut: Cut | null } {
  const cut = cutAt(cuts, "block", "text");
  if (!cut || event.type !== "block_done" || !("text" in event.block)) return { text: block.text, cut: null };
  return { text: event.block.text, cut };
}

function messageDone(fold: Fold, entry: Entry, event: Of<"message_done">): void {
  fold.activity = null;
  fold.turn.cost += event.cost ?? 0;
  if (entry.parentCall) return;
  if (event.broken !== "lost") fold.turn.steps += 1;
  fold.turn.usage = sum(fold.turn.usage, event.usage);
}

function sum(a: Usage, b: Usage): Usage {
  return {
    input: a.input + (b.input ?? 0),
    output: a.output + (b.output ?? 0),
    cache_read: a.cache_read + (b.cache_read ?? 0),
    cache_write: a.cache_write + (b.cache_write ?? 0),
  };
}

function opened(fold: Fold, entry: Entry, event: Of<"interaction_opened">): void {
  const state: InteractionState = {
    id: event.id,
    opened: event,
    openedAt: entry.at,
    cut: Boolean(entry.cuts),
    outcome: "",
    by: "",
    message: "",
  };
  fold.interactions.set(event.id, state);
  if (fold.turn.asks.size === 0) fold.turn.asksSince = entry.at;
  fold.turn.asks.add(event.id);
  const row = fold.tool(event.call.id);
  if (row) fold.put({ ...row, interaction: state });
}

function closed(fold: Fold, entry: Entry, event: Of<"interaction_closed">): void {
  answered(fold, event.id, entry.at);
  const before = fold.interactions.get(event.id);
  if (!before || before.outcome) return;
  const state = { ...before, outcome: event.outcome, by: event.by ?? "", message: event.message ?? "" };
  fold.interactions.set(event.id, state);
  const row = fold.tool(before.opened.call.id);
  if (row) fold.put({ ...row, interaction: state });
}

/** Requests that are open side by side are waited for once. */
function answered({ turn }: Fold, id: string, at: number): void {
  if (turn.asks.delete(id) && turn.asks.size === 0) turn.waited += Math.max(0, at - turn.asksSince);
}

/** After the end of a turn nothing runs and nothing is open, whatever was missed (FM-10). */
function runDone(fold: Fold, entry: Entry, event: Of<"run_done">): void {
  for (const id of [...fold.open]) fold.drop(id);
  for (const id of [...fold.unfinished]) endTool(fold, id);
  for (const state of fold.interactions.values()) {
    if (!state.outcome) fold.interactions.set(state.id, { ...state, outcome: "cancelled" });
  }
  fold.activity = null;
  for (const id of [...fold.turn.asks]) answered(fold, id, entry.at);
  const { turn, steps, tools, usage, cost } = fold.turn;
  const whole = event.duration_ms ?? 0;
  const waitedMs = Math.min(fold.turn.waited, whole);
  fold.put({
    ...common(fold, entry),
    kind: "turn",
    turn,
    ending: event.ending,
    text: event.ending === "completed" ? "" : (event.text ?? ""),
    error: event.error ?? "",
    durationMs: whole - waitedMs,
    waitedMs,
    steps,
    tools,
    usage,
    cost,
  });
}

/** The talk of an external engine goes on in a terminal, or comes back from it. */
function worker(fold: Fold, entry: Entry, event: Of<"worker_started">): void {
  if (event.kind === "terminal" && event.engine_session) {
    fold.inTerminal = true;
    mark(fold, entry, "terminal", "");
  } else if (event.kind === "process" && fold.inTerminal) {
    fold.inTerminal = false;
    mark(fold, entry, "console", "");
  }
}

function mark(fold: Fold, entry: Entry, of: MarkOf, text: string): void {
  fold.put({ ...common(fold, entry), kind: "mark", of, text });
}

function prunedText(calls: number, tokens: number): string {
  const outputs = calls === 1 ? "1 old output" : `${calls} old outputs`;
  return tokens ? `${outputs} (${tokens.toLocaleString("en")} tokens)` : outputs;
}

export function readable(blocks: readonly Block[]): { text: string; pictures: Picture[] } {
  const texts: string[] = [];
  const pictures: Picture[] = [];
  for (const block of blocks) {
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "image") pictures.push({ mediaType: block.media_type, data: block.data });
  }
  return { text: texts.join("\n"), pictures };
}
