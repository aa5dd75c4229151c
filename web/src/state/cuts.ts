/** Texts the server cut in the middle: how much is missing, and how they are shown meanwhile. */
import type { Cut } from "@/api/types";
import { count } from "@/format/values";

/** What was cut. Add `lines` to the line count of the shown text to get the real count. */
export interface Missing {
  characters: number;
  lines: number;
}

export const COMPLETE: Missing = { characters: 0, lines: 0 };

type Path = readonly (string | number)[];

export function findCut(cuts: readonly Cut[] | undefined, ...path: Path): Cut | undefined {
  return cuts?.find((cut) => cut.path.join("/") === path.join("/"));
}

/** A copy of the event in which each cut text is its beginning and end with a marker between. */
export function joinCutTexts<T>(event: T, cuts: readonly Cut[] | undefined): T {
  if (!cuts?.length) return event;
  const copy = structuredClone(event);
  for (const cut of cuts) {
    const parent = valueAt(copy, cut.path.slice(0, -1));
    const name = cut.path.at(-1);
    if (!parent || name === undefined || typeof parent[name] !== "string") continue;
    parent[name] = joinText(parent[name], cut);
  }
  return copy;
}

/** How much is missing of the texts below `path`; `event` is the event as received. */
export function missingOf(event: unknown, cuts: readonly Cut[] | undefined, ...path: Path): Missing {
  if (!cuts?.length) return COMPLETE;
  let [characters, lines] = [0, 0];
  for (const cut of cuts) {
    if (path.some((name, parent) => cut.path[parent] !== name)) continue;
    const head = valueAt(event, cut.path);
    characters += cut.omitted;
    lines += (cut.lines ?? 0) - breaks(typeof head === "string" ? head : "");
  }
  return { characters, lines };
}

function joinText(head: string, cut: Cut): string {
  const start = breaks(head) > 1 ? `${head}\n` : head;
  return `${start}… ${count(cut.omitted)} characters not shown …\n${cut.tail}`;
}

/** Line breaks that the marker adds. */
function breaks(head: string): number {
  return head.endsWith("\n") ? 1 : 2;
}

// biome-ignore lint/suspicious/noExplicitAny: an event of any shape, traversed by the server's path
function valueAt(value: any, path: Path): any {
  let found = value;
  for (const name of path) found = found?.[name];
  return found;
}
