/** What is read, and how it is found: an element of a line, and where it stands. */

/** A line of the list; one that gathers several rows is found by each of them. */
export interface ReadLine {
  id: string;
  rows: readonly string[];
}

/** What is read: an element of a line, and how far below the upper edge it begins. */
export interface Held {
  id: string;
  element: HTMLElement | null;
  top: number;
  /** The same of the whole line. */
  line: number;
}

/** A place to come back to. */
export interface Place {
  pinned: boolean;
  id: string;
  top: number;
}

export interface Span {
  start: number;
  end: number;
}

/** The smallest element the upper edge goes through, or the first below it: what is inside a tall line may grow too. */
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

/** The line that now holds what was read; if it is gone, the next one that is not. `now` is where it is found, or -1. */
export function stillThere(
  id: string,
  now: number,
  before: readonly ReadLine[],
  lines: readonly ReadLine[],
): string {
  if (now >= 0) return lines[now]?.id ?? id;
  const here = new Set(lines.map((line) => line.id));
  const place = before.findIndex((line) => line.id === id);
  const next = place < 0 ? undefined : before.slice(place).find((line) => here.has(line.id));
  return next?.id ?? lines.at(-1)?.id ?? id;
}
