/** Applies each kind of stored entry to a transcript. An unknown kind becomes a row of its own. */
import type { Cut, Usage } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { findCut, joinCutTexts } from "./cuts";
import type { Fold } from "./fold";
import { contentOf, type EventOf, rowBase } from "./rowBase";
import type { InteractionState, MarkOf } from "./rows";
import { interruptTool, toolCalled, toolDone, toolStarted } from "./toolCalls";
import { emptyTurn } from "./turn";

export function applyEntry(fold: Fold, entry: Entry): void {
  noticeRewind(fold, entry);
  const event = joinCutTexts(entry.event, entry.cuts);
  switch (event.type) {
    case "prompted":
      return prompted(fold, entry, event);
    case "turn_started":
      fold.turn = emptyTurn(event.turn, entry.at);
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
      if (!entry.parentCall) fold.tasks = { tasks: event.tasks, at: entry.at };
      return;
    case "run_done":
      return runDone(fold, entry, event);
    case "noted":
      return fold.put({
        ...rowBase(fold, entry),
        kind: "notice",
        level: event.level ?? "info",
        text: event.text,
      });
    case "hook_ran":
      return hookRan(fold, entry, event);
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
      // A failed diff watcher is reported in the Changes panel;
      // a lost worker is reported by the turn as well.
      if (event.error && event.kind !== "git_diff" && event.why !== "lost")
        fold.put({ ...rowBase(fold, entry), kind: "notice", level: levelOf(event.why), text: event.error });
      return;
    case "interrupt_asked":
      return mark(fold, entry, "stopping", event.by);
    case "artifact_made":
      return fold.put({
        ...rowBase(fold, entry),
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
      return; // shown by the session's state, or by the call that started it
    case "agent_started":
      if (event.background) fold.backgroundAgents.add(event.id);
      return;
    case "background_ended":
      if (event.tell === "no") return;
      return fold.put({
        ...rowBase(fold, entry),
        kind: "notice",
        level: event.status === "completed" ? "info" : "warning",
        text: event.note
          ? `${event.title} hook: ${event.note}`
          : `Background command "${event.title}": ${event.status}`,
      });
    case "agent_ended":
      fold.backgroundAgents.delete(event.id);
      if (event.tell === "no") return;
      return fold.put({
        ...rowBase(fold, entry),
        kind: "notice",
        level: event.status === "completed" ? "info" : "warning",
        text: `Agent "${event.description}": ${event.status}`,
      });
    case "raw":
      if (isInit(event.data)) return; // shown in the context panel
      return fold.put({
        ...rowBase(fold, entry),
        kind: "unknown",
        name: nameOf(event.data),
        data: event.data,
      });
    default:
      return unknown(fold, entry);
  }
}

/** Hooks that said something, or failed. Those that let everything pass are in the list of events only. */
function hookRan(fold: Fold, entry: Entry, event: EventOf<"hook_ran">): void {
  const { outcome, text, duration_ms } = event;
  if (!text && (outcome === "none" || outcome === "success" || outcome === "cancelled")) return;
  const result = [outcome === "success" ? "" : outcome, text].filter(Boolean).join(": ");
  fold.put({
    ...rowBase(fold, entry),
    kind: "notice",
    level: outcome === "error" ? "warning" : "info",
    text: `${event.hook || event.event} hook: ${result}${duration_ms ? ` (${duration_ms} ms)` : ""}`,
  });
}

/** A worker that was stopped has not failed. */
function levelOf(why: EventOf<"worker_exited">["why"]): "info" | "error" {
  return why === "stopped" ? "info" : "error";
}

function unknown(fold: Fold, entry: Entry): void {
  const data: unknown = entry.event;
  fold.put({ ...rowBase(fold, entry), kind: "unknown", name: nameOf(data), data });
}

function isInit(data: unknown): boolean {
  const message = data as { type?: unknown; subtype?: unknown } | null;
  return message?.type === "system" && message.subtype === "init";
}

function nameOf(data: unknown): string {
  const type = (data as { type?: unknown } | null)?.type;
  return typeof type === "string" ? type : "unknown";
}

/** An entry whose parent is not the last entry is a rewind: the rows between are no longer part of the conversation. */
function noticeRewind(fold: Fold, entry: Entry): void {
  if (!entry.parent || !fold.lastEntry || entry.parent === fold.lastEntry || entry.parentCall) return;
  const position = fold.seqs.get(entry.parent);
  if (position === undefined) return;
  for (const row of fold.rows.values()) {
    if (row.seq > position && !row.superseded) fold.put({ ...row, superseded: true });
  }
  fold.put({ ...rowBase(fold, entry, `rewind-${entry.id}`), kind: "mark", of: "rewind", text: "" });
}

/**
 * Reasons of input that is only meant for the model: the turn's own row says how and why it ended, the panels name the
 * instruction files, and a prompt shows which files it mentions.
 */
const FOR_THE_MODEL = new Set([
  "background", // a notice says what ended
  "interrupt",
  "instructions",
  "nested_instructions",
  "output_style",
  "mention",
  "listing",
  "mcp_servers",
  "skill",
  "unknown_command",
]);

function prompted(fold: Fold, entry: Entry, event: EventOf<"prompted">): void {
  if (event.origin === "harness" && FOR_THE_MODEL.has(event.why ?? "")) return;
  const { text, images } = contentOf(event.blocks);
  if (entry.parentCall && fold.tool(entry.parentCall)?.input.prompt === text) return; // the call itself shows it
  fold.put({
    ...rowBase(fold, entry, event.id || entry.id),
    kind: "user",
    text: event.typed || text,
    images,
    origin: event.origin ?? "human",
    why: event.why ?? "",
    clientId: event.client_id ?? "",
  });
}

function blockDone(fold: Fold, entry: Entry, event: EventOf<"block_done">): void {
  const id = `${event.message_id}/${event.index}`;
  const block = event.block;
  fold.activity = null;
  const before = fold.rows.get(id);
  const base = { ...rowBase(fold, entry, id), at: before?.at ?? entry.at };
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

/** The text, or the beginning of a cut text together with its cut. */
function endsOf({ event, cuts }: Entry, block: { text: string }): { text: string; cut: Cut | null } {
  const cut = findCut(cuts, "block", "text");
  if (!cut || event.type !== "block_done" || !("text" in event.block)) return { text: block.text, cut: null };
  return { text: event.block.text, cut };
}

function messageDone(fold: Fold, entry: Entry, event: EventOf<"message_done">): void {
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

function opened(fold: Fold, entry: Entry, event: EventOf<"interaction_opened">): void {
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
  if (fold.turn.pendingRequests.size === 0) fold.turn.pendingSince = entry.at;
  fold.turn.pendingRequests.add(event.id);
  const row = fold.tool(event.call.id);
  if (row) fold.put({ ...row, interaction: state });
}

function closed(fold: Fold, entry: Entry, event: EventOf<"interaction_closed">): void {
  answered(fold, event.id, entry.at);
  const before = fold.interactions.get(event.id);
  if (!before || before.outcome) return;
  const state = { ...before, outcome: event.outcome, by: event.by ?? "", message: event.message ?? "" };
  fold.interactions.set(event.id, state);
  const row = fold.tool(before.opened.call.id);
  if (row) fold.put({ ...row, interaction: state });
}

/** The waiting time of overlapping requests is counted once. */
function answered({ turn }: Fold, id: string, at: number): void {
  if (turn.pendingRequests.delete(id) && turn.pendingRequests.size === 0)
    turn.waited += Math.max(0, at - turn.pendingSince);
}

/** When a turn ends, nothing runs and nothing is pending, whatever was missed. */
function runDone(fold: Fold, entry: Entry, event: EventOf<"run_done">): void {
  // Agents in the background go on.
  const ends = (id: string) => !fold.rows.get(id)?.parentCall;
  for (const id of [...fold.open].filter(ends)) fold.drop(id);
  for (const id of [...fold.unfinished].filter(ends)) interruptTool(fold, id);
  for (const state of fold.interactions.values()) {
    if (!state.outcome && !outlastsTurn(fold, state))
      fold.interactions.set(state.id, { ...state, outcome: "cancelled" });
  }
  fold.activity = null;
  for (const id of [...fold.turn.pendingRequests]) answered(fold, id, entry.at);
  const { turn, steps, tools, usage, cost } = fold.turn;
  const whole = event.duration_ms ?? 0;
  const waitedMs = Math.min(fold.turn.waited, whole);
  if (event.local && event.text)
    fold.put({
      ...rowBase(fold, entry, `${entry.id}/answer`),
      kind: "notice",
      level: "info",
      text: event.text,
    });
  fold.put({
    ...rowBase(fold, entry),
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

/** Requests of agents in the background and of MCP servers stay open when the turn ends. */
function outlastsTurn(fold: Fold, { opened }: InteractionState): boolean {
  return opened.call.name === "Elicitation" || fold.backgroundAgents.has(opened.agent ?? "");
}

/** An external engine's conversation continues in a terminal, or returns from it. */
function worker(fold: Fold, entry: Entry, event: EventOf<"worker_started">): void {
  if (event.kind === "terminal" && event.engine_session) {
    fold.inTerminal = true;
    mark(fold, entry, "terminal", "");
  } else if (event.kind === "process" && fold.inTerminal) {
    fold.inTerminal = false;
    mark(fold, entry, "console", "");
  }
}

function mark(fold: Fold, entry: Entry, of: MarkOf, text: string): void {
  fold.put({ ...rowBase(fold, entry), kind: "mark", of, text });
}

function prunedText(calls: number, tokens: number): string {
  const outputs = calls === 1 ? "1 old output" : `${calls} old outputs`;
  return tokens ? `${outputs} (${tokens.toLocaleString("en")} tokens)` : outputs;
}
