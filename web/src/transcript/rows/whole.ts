/** Very long texts come without their middle, which is loaded when it comes into view. */
import { useState } from "react";
import { said as answer, api } from "@/api/client";
import { complain } from "@/state/actions";
import type { Row, TextRow, ThinkingRow } from "@/state/rows";
import { plain } from "@/text/terminal";

const MOST_WHOLE = 20;
const whole = new Map<string, string>();

export interface Ends {
  head: string;
  /** Null where `head` is all of it. */
  rest: { tail: string; omitted: number; load: () => Promise<void> } | null;
}

/** `heard` is what was on the screen while it was streamed: it is used where it is all of the text. */
export function useWhole(row: TextRow | ThinkingRow, heard: string, sessionId: string): Ends {
  const [, draw] = useState(0);
  const { text, cut } = row;
  if (!cut) return { head: text, rest: null };
  const isHeard = heard.length > text.length + cut.tail.length && heard.startsWith(text);
  const known = whole.get(row.id) ?? (isHeard && heard.endsWith(cut.tail) ? heard : "");
  if (known) return { head: known, rest: null };
  const load = async () => {
    try {
      whole.set(row.id, await textAt(sessionId, row.seq));
      for (const old of whole.keys()) if (whole.size > MOST_WHOLE) whole.delete(old);
      draw((drawn) => drawn + 1);
    } catch (error) {
      complain(error);
    }
  };
  return { head: text, rest: { tail: cut.tail, omitted: cut.omitted, load } };
}

/** The text of a row to be copied: whole, also where only its ends are here. */
export async function wholeText(sessionId: string, row: Row): Promise<string> {
  if ((row.kind === "text" || row.kind === "thinking") && row.cut)
    return whole.get(row.id) ?? textAt(sessionId, row.seq);
  if (row.kind !== "tool" || row.missing.output.characters === 0) return textOf(row);
  const path = { id: sessionId, call_id: row.id };
  return plain((await answer(api.GET("/sessions/{id}/calls/{call_id}", { params: { path } }))).output);
}

/** Clean text: no prompts, no colours. */
export function textOf(row: Row): string {
  if (row.kind === "tool") return plain(row.output);
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
