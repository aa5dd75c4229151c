/**
 * Folds the entries of a log and the streamed parts into the rows of a transcript. The same entries give the same
 * rows, whether they came live, replayed, or mixed. Each entry costs the same, the first and the twenty-thousandth.
 */
import type { Entry, Part } from "@/stream/frames";
import { applyEntry } from "./entries";
import { applyLive } from "./liveParts";
import type { InteractionState, Item, Row, Tasks, ToolRow } from "./rows";
import { isOver, isReadOnlyTool } from "./rows";
import { emptyTurn, type TurnState } from "./turn";

export class Fold {
  /** Rows by id. */
  readonly rows = new Map<string, Row>();
  /** The main conversation from top to bottom. */
  items: Item[] = [];
  /** Rows of sub-agents, by the call that started them. */
  readonly children = new Map<string, string[]>();
  readonly interactions = new Map<string, InteractionState>();
  tasks: Tasks = { tasks: [], at: 0 };
  /** Whether the conversation was last continued in a terminal. */
  inTerminal = false;
  seq = 0;
  turn: TurnState = emptyTurn(0, 0);
  /** The current model request and its retry message. */
  activity: { model: string; retry: string } | null = null;
  /** Ids of rows that changed since the last notification; with `listed`, what has to be rendered. */
  changed = new Set<string>();
  /** Incremented whenever `items` changes. */
  listed = 0;

  /** Rows of parts that are not stored yet. */
  readonly open = new Set<string>();
  /** Sequence numbers by entry id, to detect a rewind. */
  readonly seqs = new Map<string, number>();
  lastEntry = "";
  /** Calls that have no result yet. */
  readonly unfinished = new Set<string>();
  /** Agents in the background that have not ended. */
  readonly backgroundAgents = new Set<string>();
  /** The call that a message part writes, by the part's id. */
  readonly calls = new Map<string, string>();

  /** Applies stored entries, oldest first. Known ones change nothing. */
  apply(entries: Iterable<Entry>): void {
    for (const entry of entries) {
      if (entry.seq <= this.seq) continue;
      applyEntry(this, entry);
      this.seq = entry.seq;
      this.seqs.set(entry.id, entry.seq);
      this.lastEntry = entry.id;
    }
  }

  /** Applies a streamed part. Returns false if an earlier piece is missing. */
  applyPart(type: string, part: Part): boolean {
    return applyLive(this, type, part);
  }

  /** Replaces all unstored parts by the server's, once everything stored has arrived. */
  synchronize(parts: Part[]): void {
    for (const id of [...this.open]) this.drop(id);
    for (const part of parts) {
      const output = part.kind === undefined || (part.kind as string) === "output";
      applyLive(this, output ? "tool.output" : "part.snapshot", part);
    }
  }

  /** Copies unstored parts from the fold of the same log that this one replaces. */
  carryLiveFrom(before: Fold): void {
    for (const id of before.open) {
      const row = before.rows.get(id);
      if (!row) continue;
      this.put(row);
      this.open.add(id);
    }
    for (const [part, call] of before.calls) this.calls.set(part, call);
    for (const id of this.unfinished) {
      const [row, live] = [this.tool(id), before.tool(id)];
      if (row && live?.printed) this.put({ ...row, tail: live.tail, printed: live.printed });
    }
    this.activity = before.activity;
  }

  put(row: Row): void {
    const known = this.rows.has(row.id);
    this.rows.set(row.id, row);
    this.changed.add(row.id);
    if (row.kind === "tool") {
      if (isOver(row.status)) this.unfinished.delete(row.id);
      else this.unfinished.add(row.id);
    }
    if (!known) this.#position(row);
  }

  tool(id: string): ToolRow | undefined {
    const row = this.rows.get(id);
    return row?.kind === "tool" ? row : undefined;
  }

  drop(id: string): void {
    const row = this.rows.get(id);
    this.open.delete(id);
    if (!row || row.seq > 0) return;
    this.rows.delete(id);
    this.unfinished.delete(id);
    this.changed.add(id);
    if (row.parentCall) {
      const siblings = this.children.get(row.parentCall) ?? [];
      this.children.set(
        row.parentCall,
        siblings.filter((each) => each !== id),
      );
      this.changed.add(row.parentCall);
      return;
    }
    const position = this.items.findLastIndex((item) => item.rows.includes(id));
    const item = this.items[position];
    if (!item) return;
    const left = item.rows.filter((each) => each !== id);
    if (left.length > 0) this.items[position] = withRows(item, left);
    else this.items.splice(position, 1);
    this.listed += 1;
  }

  #position(row: Row): void {
    if (row.parentCall) {
      const siblings = this.children.get(row.parentCall) ?? [];
      this.children.set(row.parentCall, [...siblings, row.id]);
      this.changed.add(row.parentCall);
      return;
    }
    this.listed += 1;
    const last = this.items.at(-1);
    if (last && row.kind === "tool" && isReadOnlyTool(row.name) && this.#isRun(last)) {
      this.items[this.items.length - 1] = withRows(last, [...last.rows, row.id]);
      this.changed.add(last.id);
      return;
    }
    this.items.push({ id: row.id, rows: [row.id], group: false });
  }

  #isRun(item: Item): boolean {
    const row = this.rows.get(item.rows[0] ?? "");
    return row?.kind === "tool" && isReadOnlyTool(row.name);
  }
}

function withRows(item: Item, rows: string[]): Item {
  return { id: item.id, rows, group: rows.length > 1 };
}
