/** Splits a line into segments of one colour and one change state. */
import type { Token } from "@/text/highlight";
import type { Word } from "./wordDiff";

export interface Segment {
  text: string;
  /** Empty: the line's own. */
  color: string;
  changed: boolean;
}

/** Tokens that do not match the line's length are ignored. */
export function segmentsOf(text: string, words?: readonly Word[], tokens?: readonly Token[]): Segment[] {
  const colours = tokens && lengthOf(tokens) === text.length ? tokens : [{ text, color: "" }];
  const marks = words && lengthOf(words) === text.length ? words : [{ text, changed: false }];
  const made: Segment[] = [];
  let offset = 0;
  let colour = 0;
  let mark = 0;
  let colourEnd = colours[0]?.text.length ?? 0;
  let markEnd = marks[0]?.text.length ?? 0;
  while (offset < text.length) {
    while (colourEnd <= offset && colour < colours.length - 1) {
      colour += 1;
      colourEnd += colours[colour]?.text.length ?? 0;
    }
    while (markEnd <= offset && mark < marks.length - 1) {
      mark += 1;
      markEnd += marks[mark]?.text.length ?? 0;
    }
    const end = Math.max(offset + 1, Math.min(colourEnd, markEnd));
    made.push({
      text: text.slice(offset, end),
      color: colours[colour]?.color ?? "",
      changed: marks[mark]?.changed ?? false,
    });
    offset = end;
  }
  return made;
}

function lengthOf(pieces: readonly { text: string }[]): number {
  return pieces.reduce((sum, piece) => sum + piece.text.length, 0);
}

/** The first `most` characters of the segments. */
export function firstOf(segments: Segment[], most: number): Segment[] {
  const kept: Segment[] = [];
  let left = most;
  for (const segment of segments) {
    if (left <= 0) break;
    kept.push(segment.text.length <= left ? segment : { ...segment, text: segment.text.slice(0, left) });
    left -= segment.text.length;
  }
  return kept;
}
