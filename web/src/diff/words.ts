/** Which words of a changed line differ: a removed line is compared with the added one that took its place. */
import { diffArrays } from "diff";
import type { DiffLine } from "./lines";

export interface Word {
  text: string;
  changed: boolean;
}

/** Of one line; longer ones are code for machines. */
const LONGEST = 600;
/** Pairs of lines in one diff whose words are looked at: nobody reads more of them than that so closely. */
export const MOST_PAIRS = 150;
/** Words that come and go in one pair. */
const MOST_EDITS = 120;
/** Two lines are the same line changed if this much of the longer one stays. */
const ENOUGH = 0.35;

const TOKEN =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|[\p{L}_][\p{L}\p{M}\p{N}_]*|\p{N}+|\s+|./gsu;

/** Puts words into those lines that have a counterpart. Returns how many pairs may still be looked at. */
export function markWords(lines: DiffLine[], most: number = MOST_PAIRS): number {
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
  const pair = wordsOf(removed.text, added.text);
  if (!pair) return;
  [removed.words, added.words] = pair;
}

/** The pieces of both lines, or nothing where they have too little in common or are too long. */
export function wordsOf(before: string, after: string): [Word[], Word[]] | null {
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
  return [quiet(left), quiet(right)];
}

/** A blank between two changed words is changed with them: one mark reads better than two. */
function quiet(words: Word[]): Word[] {
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
