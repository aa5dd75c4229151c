/** Scroll anchors: the element that keeps its position on the screen. */

/** A line of the list; a group is found by each of its rows. */
export interface ListLine {
  id: string;
  rows: readonly string[];
}

/** The anchored element of a line, and its distance from the top edge. */
export interface Anchor {
  id: string;
  element: HTMLElement | null;
  top: number;
  /** The same for the whole line. */
  lineTop: number;
}

/** A scroll position to restore. */
export interface Position {
  pinned: boolean;
  id: string;
  top: number;
}

export interface Span {
  start: number;
  end: number;
}

/** The innermost element at the top edge, or the first below it: the content of a tall line may grow, too. */
export function innermost(line: HTMLElement, edge: number): HTMLElement {
  let found = line;
  for (let depth = 0; depth < 8 && found.childElementCount < 300; depth += 1) {
    const inner = [...found.children].find((child) => child.getBoundingClientRect().bottom > edge + 1);
    if (!(inner instanceof HTMLElement)) return found;
    found = inner;
    if (inner.getBoundingClientRect().top >= edge) return found;
  }
  return found;
}

/** The line that now contains the anchor; if it is gone, the next remaining one. `now` is its index, or -1. */
export function lineAfterChange(
  id: string,
  now: number,
  before: readonly ListLine[],
  lines: readonly ListLine[],
): string {
  if (now >= 0) return lines[now]?.id ?? id;
  const here = new Set(lines.map((line) => line.id));
  const position = before.findIndex((line) => line.id === id);
  const next = position < 0 ? undefined : before.slice(position).find((line) => here.has(line.id));
  return next?.id ?? lines.at(-1)?.id ?? id;
}
