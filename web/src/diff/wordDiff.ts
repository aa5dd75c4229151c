/** Word diff of a removed line and the added line that replaced it. */
import { diffArrays } from "diff";
import type { DiffLine } from "./lines";

export interface Word {
  text: string;
  changed: boolean;
}

/** Longer lines are not compared. */
const LONGEST = 600;
/** Line pairs per diff that are compared by word. */
export const MOST_PAIRS = 150;
/** Maximum edits per pair. */
const MOST_EDITS = 120;
/** Lines with less in common are not compared. */
const ENOUGH = 0.35;

const TOKEN =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|[\p{L}_][\p{L}\p{M}\p{N}_]*|\p{N}+|\s+|./gsu;

/** Marks changed words in paired lines. Returns how many pairs are left to compare. */
export function markWordChanges(lines: DiffLine[], most: number = MOST_PAIRS): number {
  let left = most;
  for (let start = 0; start < lines.length; ) {
    const middle = endOf(lines, start, "removed");
    const end = endOf(lines, middle, "added");
    const count = Math.min(middle - start, end - middle);
    for (let step = 0; step < count && left > 0; step += 1, left -= 1) {
      compare(lines[start + step], lines[middle + step]);
    }
    start = end > start ? end : start + 1;
  }
  return left;
}

function endOf(lines: readonly DiffLine[], start: number, kind: DiffLine["kind"]): number {
  let end = start;
  while (lines[end]?.kind === kind) end += 1;
  return end;
}

function compare(removed: DiffLine | undefined, added: DiffLine | undefined): void {
  if (!removed || !added) return;
  const pair = diffWords(removed.text, added.text);
  if (!pair) return;
  [removed.words, added.words] = pair;
}

/** The word pieces of both lines; null if they differ too much or are too long. */
export function diffWords(before: string, after: string): [Word[], Word[]] | null {
  if (before === after || before.length > LONGEST || after.length > LONGEST) return null;
  const parts = diffArrays(before.match(TOKEN) ?? [], after.match(TOKEN) ?? [], {
    maxEditLength: MOST_EDITS,
  });
  if (!parts) return null;
  const left: Word[] = [];
  const right: Word[] = [];
  let kept = 0;
  for (const part of parts) {
    const text = part.value.join("");
    if (!part.added) left.push({ text, changed: part.removed });
    if (!part.removed) right.push({ text, changed: part.added });
    if (!part.added && !part.removed) kept += text.trim().length;
  }
  const most = Math.max(before.trim().length, after.trim().length);
  if (kept < most * ENOUGH && most > 0) return null;
  return [joinChanges(left), joinChanges(right)];
}

/** Merges a blank between two changed words into one mark. */
function joinChanges(words: Word[]): Word[] {
  const row: Word[] = [];
  words.forEach((word, index) => {
    const lone =
      !word.changed && word.text.trim() === "" && words[index - 1]?.changed && words[index + 1]?.changed;
    const changed = word.changed || lone === true;
    const last = row.at(-1);
    if (last?.changed === changed) last.text += word.text;
    else row.push({ text: word.text, changed });
  });
  return row;
}
