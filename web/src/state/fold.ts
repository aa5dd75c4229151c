/**
 * A transcript folded from the entries of a log and from what is being said now. The same entries give the same rows,
 * however they came: live, replayed, or half and half (FM-1, FM-9, FM-10). Each entry costs the same, the first and
 * the twenty-thousandth (FM-23).
 */
import type { Usage } from "@/api/types";
import type { Entry, Part } from "@/stream/frames";
import { applyEntry } from "./entries";
import { applyLive } from "./live";
import type { InteractionState, Item, Row, Tasks, ToolRow } from "./rows";
import { isLooking, isOver } from "./rows";

export interface TurnSoFar {
  turn: number;
  startedAt: number;
  steps: number;
  tools: number;
  usage: Usage;
  cost: number;
  /** Milliseconds in which it waited for a person. */
  waited: number;
  /** Requests a person has yet to decide, and since when there is any. */
  asks: Set<string>;
  asksSince: number;
}

export class Fold {
  /** Rows by id. */
  readonly rows = new Map<string, Row>();
  /** The main talk from top to bottom. */
  items: Item[] = [];
  /** Rows of sub-agents, by the call that started them. */
  readonly children = new Map<string, string[]>();
  readonly interactions = new Map<string, InteractionState>();
  tasks: Tasks = { tasks: [], at: 0 };
  /** Whether the talk was last gone on with in a terminal. */
  inTerminal = false;
  seq = 0;
  turn: TurnSoFar = noTurn(0, 0);
  /** What the model is asked right now, and how often it was asked anew. */
  activity: { model: string; retry: string } | null = null;
  /** Ids of rows that changed since they were last asked for; with `listed`, what has to be drawn. */
  changed = new Set<string>();
  /** Grows whenever `items` does. */
  listed = 0;

  /** Parts whose words are not stored yet, by row id. */
  readonly open = new Set<string>();
  /** Where entries stand, to notice a rewind. */
  readonly seqs = new Map<string, number>();
  lastEntry = "";
  /** Calls that have no result yet. */
  readonly unfinished = new Set<string>();
  /** The call a part of a message writes, by the part. */
  readonly calls = new Map<string, string>();

  /** Take in stored entries, oldest first. Those that are here already change nothing. */
  take(entries: Iterable<Entry>): void {
    for (const entry of entries) {
      if (entry.seq <= this.seq) continue;
      applyEntry(this, entry);
      this.seq = entry.seq;
      this.seqs.set(entry.id, entry.seq);
      this.lastEntry = entry.id;
    }
  }

  /** A piece of what is being said. Returns false where a piece before it is missing. */
  hear(type: string, part: Part): boolean {
    return applyLive(this, type, part);
  }

  /** What is being said, as the server has it at the moment everything stored has come. */
  synchronize(parts: Part[]): void {
    for (const id of [...this.open]) this.drop(id);
    for (const part of parts) {
      const output = part.kind === undefined || (part.kind as string) === "output";
      applyLive(this, output ? "tool.output" : "part.snapshot", part);
    }
  }

  /** What is only said, not stored, of a fold of the same log that this one takes the place of. */
  goOnFrom(before: Fold): void {
    for (const id of before.open) {
      const row = before.rows.get(id);
      if (!row) continue;
      this.put(row);
      this.open.add(id);
    }
    for (const [part, call] of before.calls) this.calls.set(part, call);
    for (const id of this.unfinished) {
      const [row, said] = [this.tool(id), before.tool(id)];
      if (row && said?.printed) this.put({ ...row, tail: said.tail, printed: said.printed });
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
    if (!known) this.#place(row);
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
    const place = this.items.findLastIndex((item) => item.rows.includes(id));
    const item = this.items[place];
    if (!item) return;
    const left = item.rows.filter((each) => each !== id);
    if (left.length > 0) this.items[place] = withRows(item, left);
    else this.items.splice(place, 1);
    this.listed += 1;
  }

  #place(row: Row): void {
    if (row.parentCall) {
      const siblings = this.children.get(row.parentCall) ?? [];
      this.children.set(row.parentCall, [...siblings, row.id]);
      this.changed.add(row.parentCall);
      return;
    }
    this.listed += 1;
    const last = this.items.at(-1);
    if (last && row.kind === "tool" && isLooking(row.name) && this.#isRun(last)) {
      this.items[this.items.length - 1] = withRows(last, [...last.rows, row.id]);
      this.changed.add(last.id);
      return;
    }
    this.items.push({ id: row.id, rows: [row.id], group: false });
  }

  #isRun(item: Item): boolean {
    const row = this.rows.get(item.rows[0] ?? "");
    return row?.kind === "tool" && isLooking(row.name);
  }
}

function withRows(item: Item, rows: string[]): Item {
  return { id: item.id, rows, group: rows.length > 1 };
}

export function noTurn(turn: number, startedAt: number): TurnSoFar {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };
  return { turn, startedAt, steps: 0, tools: 0, usage, cost: 0, waited: 0, asks: new Set(), asksSince: 0 };
}
