/** What the rows of all kinds of entries share: their common fields and their readable content. */
import type { Block } from "@/api/types";
import type { Entry } from "@/stream/frames";
import type { Fold } from "./fold";
import type { RowImage } from "./rows";

export type EventOf<T extends Entry["event"]["type"]> = Extract<Entry["event"], { type: T }>;

export function rowBase(fold: Fold, entry: Entry, id = entry.id) {
  const { seq, at, parentCall, agent } = entry;
  return { id, seq, entry: entry.id, at, turn: fold.turn.turn, parentCall, agent };
}

export function contentOf(blocks: readonly Block[]): { text: string; images: RowImage[] } {
  const texts: string[] = [];
  const images: RowImage[] = [];
  for (const block of blocks) {
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "image") images.push({ mediaType: block.media_type, data: block.data });
  }
  return { text: texts.join("\n"), images };
}
