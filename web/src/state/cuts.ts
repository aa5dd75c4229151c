/** Texts that came without their middle: what is missing of an entry, and how its texts are shown meanwhile. */
import type { Cut } from "@/api/types";
import { count } from "@/words/format";

/** What is on the server only. `lines` completes a count of the lines of the text as it is shown. */
export interface Missing {
  characters: number;
  lines: number;
}

export const COMPLETE: Missing = { characters: 0, lines: 0 };

type Path = readonly (string | number)[];

export function cutAt(cuts: readonly Cut[] | undefined, ...path: Path): Cut | undefined {
  return cuts?.find((cut) => cut.path.join("/") === path.join("/"));
}

/** A copy of the event in which the beginning and the end of each cut text stand together, with the gap between. */
export function bridged<T>(event: T, cuts: readonly Cut[] | undefined): T {
  if (!cuts?.length) return event;
  const copy = structuredClone(event);
  for (const cut of cuts) {
    const place = at(copy, cut.path.slice(0, -1));
    const name = cut.path.at(-1);
    if (!place || name === undefined || typeof place[name] !== "string") continue;
    place[name] = bridge(place[name], cut);
  }
  return copy;
}

/** How much is missing of the texts below `path`; `event` is the one the cuts came with, as it came. */
export function missingOf(event: unknown, cuts: readonly Cut[] | undefined, ...path: Path): Missing {
  if (!cuts?.length) return COMPLETE;
  let [characters, lines] = [0, 0];
  for (const cut of cuts) {
    if (path.some((name, place) => cut.path[place] !== name)) continue;
    const head = at(event, cut.path);
    characters += cut.omitted;
    lines += (cut.lines ?? 0) - breaks(typeof head === "string" ? head : "");
  }
  return { characters, lines };
}

function bridge(head: string, cut: Cut): string {
  const start = breaks(head) > 1 ? `${head}\n` : head;
  return `${start}… ${count(cut.omitted)} characters not shown …\n${cut.tail}`;
}

/** Line breaks that a bridge adds of its own. */
function breaks(head: string): number {
  return head.endsWith("\n") ? 1 : 2;
}

// biome-ignore lint/suspicious/noExplicitAny: an event of any shape, walked by the server's own path
function at(value: any, path: Path): any {
  let found = value;
  for (const name of path) found = found?.[name];
  return found;
}
