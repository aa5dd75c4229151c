/** Hunks of the difference between two texts, with line numbers and changed words. */
import type { Hunk } from "@/api/types";
import { type Change, changesOf } from "./changes";
import { MOST_PAIRS, markWordChanges, type Word } from "./wordDiff";

export interface DiffLine {
  kind: "same" | "added" | "removed";
  /** Its number in the old text; null if it is new. */
  old: number | null;
  now: number | null;
  /** Without the newline; a `\r` before it is kept. */
  text: string;
  /** Word-level pieces of `text`, if only a few words changed. */
  words?: Word[];
  /** The text ends here, without a newline. */
  bare?: true;
}

export interface DiffHunk {
  oldStart: number;
  newStart: number;
  lines: DiffLine[];
  /** The hunk's heading: usually the enclosing function. */
  header?: string;
}

export const CONTEXT = 3;

/** The hunks from `before` to `after`. With `context` Infinity all lines are in one hunk. */
export function diffTexts(before: string, after: string, context: number = CONTEXT): DiffHunk[] {
  if (before === after && context !== Number.POSITIVE_INFINITY) return [];
  const old = linesOf(before);
  const now = linesOf(after);
  return withWords(hunksOf(old, now, changesOf(old, now), context));
}

/** Hunks of a piece of a file, without marks for a missing final newline. */
export function hunksOfPiece(hunks: readonly DiffHunk[]): DiffHunk[] {
  const whole = ({ bare: _, ...line }: DiffLine): DiffLine => line;
  return hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(whole) }));
}

/** The lines of a text with their newlines, so that a missing final newline is a difference. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  const ended = lines.map((line) => `${line}\n`);
  return last ? [...ended, last] : ended;
}

function hunksOf(old: string[], now: string[], changes: Change[], context: number): DiffHunk[] {
  const hunks: DiffHunk[] = [];
  let lines: DiffLine[] = [];
  let oldAt = 0;
  let newAt = 0;
  const same = (count: number) => {
    for (let step = 0; step < count; step += 1) {
      lines.push(lineOf("same", oldAt + 1, newAt + 1, now[newAt] ?? ""));
      oldAt += 1;
      newAt += 1;
    }
  };
  const close = () => {
    if (lines.length > 0) hunks.push(hunkOf(lines));
    lines = [];
  };
  for (const change of changes) {
    const gap = change.oldStart - oldAt;
    if (lines.length > 0 && gap > context * 2) {
      same(Math.min(context, gap));
      close();
    }
    const skipped = Math.max(0, change.oldStart - oldAt - context);
    if (lines.length === 0 && skipped > 0) {
      oldAt += skipped;
      newAt += skipped;
    }
    same(change.oldStart - oldAt);
    for (; oldAt < change.oldEnd; oldAt += 1)
      lines.push(lineOf("removed", oldAt + 1, null, old[oldAt] ?? ""));
    for (; newAt < change.newEnd; newAt += 1) lines.push(lineOf("added", null, newAt + 1, now[newAt] ?? ""));
  }
  if (lines.length > 0 || context === Number.POSITIVE_INFINITY) same(Math.min(context, old.length - oldAt));
  close();
  return hunks;
}

function lineOf(kind: DiffLine["kind"], old: number | null, now: number | null, raw: string): DiffLine {
  return raw.endsWith("\n")
    ? { kind, old, now, text: raw.slice(0, -1) }
    : { kind, old, now, text: raw, bare: true };
}

function hunkOf(lines: DiffLine[]): DiffHunk {
  const oldStart = lines.find((line) => line.old !== null)?.old ?? 0;
  const newStart = lines.find((line) => line.now !== null)?.now ?? 0;
  return { oldStart, newStart, lines };
}

function withWords(hunks: DiffHunk[]): DiffHunk[] {
  let left = MOST_PAIRS;
  for (const hunk of hunks) if (left > 0) left = markWordChanges(hunk.lines, left);
  return hunks;
}

/** Parses a hunk of the server. */
export function parseHunk(hunk: Hunk): DiffHunk {
  const lines = hunk.text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const read = hunkFrom(lines, hunk.old_start, hunk.new_start);
  if (hunk.header) read.header = hunk.header;
  markWordChanges(read.lines);
  return read;
}

/** Parses the hunks of a tool (`structuredPatch`); empty if there are none. */
export function parsePatch(patch: unknown): DiffHunk[] {
  if (!Array.isArray(patch)) return [];
  const hunks = patch.flatMap((each: unknown) => {
    const { oldStart, newStart, lines } = (each ?? {}) as Record<string, unknown>;
    if (typeof oldStart !== "number" || typeof newStart !== "number" || !Array.isArray(lines)) return [];
    const texts = lines.filter((line): line is string => typeof line === "string");
    return texts.length > 0 ? [hunkFrom(texts, oldStart, newStart)] : [];
  });
  return withWords(hunks);
}

function hunkFrom(texts: string[], oldStart: number, newStart: number): DiffHunk {
  const lines: DiffLine[] = [];
  let old = oldStart;
  let now = newStart;
  for (const text of texts) {
    const body = text.slice(1);
    const sign = text[0];
    if (sign === "\\") {
      const last = lines.at(-1);
      if (last) last.bare = true;
    } else if (sign === "+") {
      lines.push({ kind: "added", old: null, now, text: body });
      now += 1;
    } else if (sign === "-") {
      lines.push({ kind: "removed", old, now: null, text: body });
      old += 1;
    } else {
      lines.push({ kind: "same", old, now, text: body });
      old += 1;
      now += 1;
    }
  }
  return { oldStart, newStart, lines };
}

/** Counts added and removed lines. */
export function countOf(hunks: readonly DiffHunk[]): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const hunk of hunks) {
    for (const line of hunk.lines) {
      if (line.kind === "added") added += 1;
      else if (line.kind === "removed") removed += 1;
    }
  }
  return { added, removed };
}
