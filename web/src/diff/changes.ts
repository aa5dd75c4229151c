/**
 * Which runs of lines differ between two texts. Lines that occur once in each text and in the same order hold the
 * texts together, the longest common sequence fills what is between them, and what would take too long is taken for
 * changed as a whole: the answer is always right, and always quick.
 */
import { diffArrays } from "diff";

/** Lines `oldStart`..`oldEnd` of the old text became `newStart`..`newEnd` of the new one; from 0, ends not included. */
export interface Change {
  oldStart: number;
  oldEnd: number;
  newStart: number;
  newEnd: number;
}

/** Changed lines in one piece between anchors, above which nobody looks for the shortest way. */
const MOST_EDITS = 250;

export function changesOf(old: readonly string[], now: readonly string[]): Change[] {
  const found: Change[] = [];
  between(old, now, { oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: now.length }, found);
  return joined(found);
}

function between(old: readonly string[], now: readonly string[], whole: Change, found: Change[]): void {
  const place = { ...whole };
  while (
    place.oldStart < place.oldEnd &&
    place.newStart < place.newEnd &&
    old[place.oldStart] === now[place.newStart]
  ) {
    place.oldStart += 1;
    place.newStart += 1;
  }
  while (
    place.oldStart < place.oldEnd &&
    place.newStart < place.newEnd &&
    old[place.oldEnd - 1] === now[place.newEnd - 1]
  ) {
    place.oldEnd -= 1;
    place.newEnd -= 1;
  }
  const size = place.oldEnd - place.oldStart + place.newEnd - place.newStart;
  if (size === 0) return;
  if (place.oldStart === place.oldEnd || place.newStart === place.newEnd) {
    found.push(place);
    return;
  }
  const anchors = size > MOST_EDITS ? anchorsOf(old, now, place) : [];
  if (anchors.length === 0) {
    shortest(old, now, place, found);
    return;
  }
  let { oldStart, newStart } = place;
  for (const [oldAt, newAt] of anchors) {
    between(old, now, { oldStart, oldEnd: oldAt, newStart, newEnd: newAt }, found);
    oldStart = oldAt + 1;
    newStart = newAt + 1;
  }
  between(old, now, { oldStart, oldEnd: place.oldEnd, newStart, newEnd: place.newEnd }, found);
}

/** Lines that stand once in both and in the same order: the longest rising row of them. */
function anchorsOf(old: readonly string[], now: readonly string[], place: Change): [number, number][] {
  const inOld = once(old, place.oldStart, place.oldEnd);
  const inNew = once(now, place.newStart, place.newEnd);
  const pairs: [number, number][] = [];
  for (const [line, at] of inOld) {
    const other = inNew.get(line);
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([at, other]);
  }
  return rising(pairs);
}

function once(lines: readonly string[], start: number, end: number): Map<string, number> {
  const places = new Map<string, number>();
  for (let at = start; at < end; at += 1) {
    const line = lines[at] ?? "";
    places.set(line, places.has(line) ? -1 : at);
  }
  return places;
}

function rising(pairs: [number, number][]): [number, number][] {
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

function shortest(old: readonly string[], now: readonly string[], place: Change, found: Change[]): void {
  const parts = diffArrays(old.slice(place.oldStart, place.oldEnd), now.slice(place.newStart, place.newEnd), {
    maxEditLength: MOST_EDITS,
  });
  if (!parts) {
    found.push(place);
    return;
  }
  let oldAt = place.oldStart;
  let newAt = place.newStart;
  for (const part of parts) {
    const change = { oldStart: oldAt, oldEnd: oldAt, newStart: newAt, newEnd: newAt };
    if (!part.added) oldAt += part.count;
    if (!part.removed) newAt += part.count;
    if (part.added || part.removed) found.push({ ...change, oldEnd: oldAt, newEnd: newAt });
  }
}

/** Changes without a line between them are one. */
function joined(changes: Change[]): Change[] {
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
