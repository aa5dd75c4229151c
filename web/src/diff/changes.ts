/**
 * Line diff of two texts. Lines that are unique in both texts and in the same order are anchors,
 * the longest common subsequence fills the ranges between them, and ranges that would take too long count as
 * changed as a whole. The result is always correct and always fast.
 */
import { diffArrays } from "diff";

/** Lines `oldStart`..`oldEnd` of the old text became `newStart`..`newEnd` of the new one; 0-based, ends excluded. */
export interface Change {
  oldStart: number;
  oldEnd: number;
  newStart: number;
  newEnd: number;
}

/** Ranges with more edits are not searched for the shortest diff. */
const MOST_EDITS = 250;

export function changesOf(old: readonly string[], now: readonly string[]): Change[] {
  const found: Change[] = [];
  diffRange(old, now, { oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: now.length }, found);
  return joinAdjacent(found);
}

function diffRange(old: readonly string[], now: readonly string[], whole: Change, found: Change[]): void {
  const range = { ...whole };
  while (
    range.oldStart < range.oldEnd &&
    range.newStart < range.newEnd &&
    old[range.oldStart] === now[range.newStart]
  ) {
    range.oldStart += 1;
    range.newStart += 1;
  }
  while (
    range.oldStart < range.oldEnd &&
    range.newStart < range.newEnd &&
    old[range.oldEnd - 1] === now[range.newEnd - 1]
  ) {
    range.oldEnd -= 1;
    range.newEnd -= 1;
  }
  const size = range.oldEnd - range.oldStart + range.newEnd - range.newStart;
  if (size === 0) return;
  if (range.oldStart === range.oldEnd || range.newStart === range.newEnd) {
    found.push(range);
    return;
  }
  const anchors = size > MOST_EDITS ? anchorsOf(old, now, range) : [];
  if (anchors.length === 0) {
    shortest(old, now, range, found);
    return;
  }
  let { oldStart, newStart } = range;
  for (const [oldAt, newAt] of anchors) {
    diffRange(old, now, { oldStart, oldEnd: oldAt, newStart, newEnd: newAt }, found);
    oldStart = oldAt + 1;
    newStart = newAt + 1;
  }
  diffRange(old, now, { oldStart, oldEnd: range.oldEnd, newStart, newEnd: range.newEnd }, found);
}

/** Lines that are unique in both texts: the longest sequence in the same order. */
function anchorsOf(old: readonly string[], now: readonly string[], range: Change): [number, number][] {
  const inOld = uniqueLines(old, range.oldStart, range.oldEnd);
  const inNew = uniqueLines(now, range.newStart, range.newEnd);
  const pairs: [number, number][] = [];
  for (const [line, at] of inOld) {
    const other = inNew.get(line);
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([at, other]);
  }
  return longestIncreasing(pairs);
}

function uniqueLines(lines: readonly string[], start: number, end: number): Map<string, number> {
  const places = new Map<string, number>();
  for (let at = start; at < end; at += 1) {
    const line = lines[at] ?? "";
    places.set(line, places.has(line) ? -1 : at);
  }
  return places;
}

function longestIncreasing(pairs: [number, number][]): [number, number][] {
  const ends: number[] = [];
  const before = new Array<number>(pairs.length).fill(-1);
  pairs.forEach(([, value], index) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[index] = ends[low - 1] ?? -1;
    ends[low] = index;
  });
  const row: [number, number][] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index] ?? -1) {
    const pair = pairs[index];
    if (pair) row.push(pair);
  }
  return row.reverse();
}

function shortest(old: readonly string[], now: readonly string[], range: Change, found: Change[]): void {
  const parts = diffArrays(old.slice(range.oldStart, range.oldEnd), now.slice(range.newStart, range.newEnd), {
    maxEditLength: MOST_EDITS,
  });
  if (!parts) {
    found.push(range);
    return;
  }
  let oldAt = range.oldStart;
  let newAt = range.newStart;
  for (const part of parts) {
    const change = { oldStart: oldAt, oldEnd: oldAt, newStart: newAt, newEnd: newAt };
    if (!part.added) oldAt += part.count;
    if (!part.removed) newAt += part.count;
    if (part.added || part.removed) found.push({ ...change, oldEnd: oldAt, newEnd: newAt });
  }
}

/** Joins adjacent changes. */
function joinAdjacent(changes: Change[]): Change[] {
  const row: Change[] = [];
  for (const change of changes) {
    const last = row.at(-1);
    if (last && last.oldEnd === change.oldStart && last.newEnd === change.newStart) {
      last.oldEnd = change.oldEnd;
      last.newEnd = change.newEnd;
    } else row.push({ ...change });
  }
  return row;
}
