/** Full texts of cut rows, loaded on demand. */
import { useState } from "react";
import { unwrap as answer, api } from "@/api/client";
import { showError } from "@/state/actions";
import type { Row, TextRow, ThinkingRow } from "@/state/rows";
import { plainText } from "@/text/terminal";

const MOST_WHOLE = 20;
const loadedTexts = new Map<string, string>();

export interface CutText {
  head: string;
  /** Null if `head` is complete. */
  rest: { tail: string; omitted: number; load: () => Promise<void> } | null;
}

/** `streamed` is the text as it was streamed: used if it is complete. */
export function useFullText(row: TextRow | ThinkingRow, streamed: string, sessionId: string): CutText {
  const [, draw] = useState(0);
  const { text, cut } = row;
  if (!cut) return { head: text, rest: null };
  const isPrefix = streamed.length > text.length + cut.tail.length && streamed.startsWith(text);
  const known = loadedTexts.get(row.id) ?? (isPrefix && streamed.endsWith(cut.tail) ? streamed : "");
  if (known) return { head: known, rest: null };
  const load = async () => {
    try {
      loadedTexts.set(row.id, await textAt(sessionId, row.seq));
      for (const old of loadedTexts.keys()) if (loadedTexts.size > MOST_WHOLE) loadedTexts.delete(old);
      draw((drawn) => drawn + 1);
    } catch (error) {
      showError(error);
    }
  };
  return { head: text, rest: { tail: cut.tail, omitted: cut.omitted, load } };
}

/** The full text of a row, for copying. */
export async function fullText(sessionId: string, row: Row): Promise<string> {
  if ((row.kind === "text" || row.kind === "thinking") && row.cut)
    return loadedTexts.get(row.id) ?? textAt(sessionId, row.seq);
  if (row.kind !== "tool" || row.missing.output.characters === 0) return textOf(row);
  const path = { id: sessionId, call_id: row.id };
  return plainText((await answer(api.GET("/sessions/{id}/calls/{call_id}", { params: { path } }))).output);
}

/** Plain text without escape sequences. */
export function textOf(row: Row): string {
  if (row.kind === "tool") return plainText(row.output);
  if (row.kind === "turn" || row.kind === "mark") return "";
  if (row.kind === "unknown") return JSON.stringify(row.data, null, 2);
  return row.text;
}

async function textAt(id: string, seq: number): Promise<string> {
  const query = { after: seq - 1, limit: 1 };
  const page = await answer(api.GET("/sessions/{id}/events", { params: { path: { id }, query } }));
  const event = page.events[0]?.event;
  const block = event?.type === "block_done" ? event.block : undefined;
  return block && (block.type === "text" || block.type === "thinking") ? block.text : "";
}
