/** Very long texts come without their middle; the whole is loaded when somebody asks for it. */
import { type ReactNode, useState } from "react";
import { said as answer, api } from "@/api/client";
import { complain } from "@/state/actions";
import type { Row, TextRow, ThinkingRow } from "@/state/rows";
import { plain } from "@/text/terminal";
import { Button } from "@/ui/Button";
import { count } from "@/words/format";

export const LEFT_OUT = /\n… (\d+) characters left out …\n/;
const MOST_WHOLE = 20;
const whole = new Map<string, string>();

/** `heard` is what was on the screen while it was being said: it does not get shorter at the end. */
export function useWhole(
  row: TextRow | ThinkingRow,
  heard: string,
  sessionId: string,
): { text: string; more: ReactNode } {
  const [, draw] = useState(0);
  const left = row.streaming ? null : LEFT_OUT.exec(row.text);
  if (!left) return { text: row.text, more: null };
  const known = whole.get(row.id) ?? joined(row.text, left, heard);
  if (known) return { text: known, more: null };
  const load = async () => {
    try {
      whole.set(row.id, await textAt(sessionId, row.seq));
      for (const old of whole.keys()) if (whole.size > MOST_WHOLE) whole.delete(old);
      draw((drawn) => drawn + 1);
    } catch (error) {
      complain(error);
    }
  };
  const words = `Show the ${count(Number(left[1]))} characters left out`;
  return { text: row.text, more: <Button onClick={() => void load()}>{words}</Button> };
}

/** The text of a row to be copied: whole, also where only its ends are here. */
export async function wholeText(sessionId: string, row: Row): Promise<string> {
  const text = textOf(row);
  if (!LEFT_OUT.test(text)) return text;
  if (row.kind === "text" || row.kind === "thinking") return whole.get(row.id) ?? textAt(sessionId, row.seq);
  if (row.kind !== "tool") return text;
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

/** What was heard and how it ends, if there is nothing missing between the two. */
export function joined(text: string, left: RegExpExecArray, heard: string): string {
  const head = text.slice(0, left.index);
  const tail = text.slice(left.index + left[0].length);
  const upTo = head.length + Number(left[1]);
  return heard.length >= upTo && heard.startsWith(head) ? heard.slice(0, upTo) + tail : "";
}

async function textAt(id: string, seq: number): Promise<string> {
  const query = { after: seq - 1, limit: 1 };
  const page = await answer(api.GET("/sessions/{id}/events", { params: { path: { id }, query } }));
  const event = page.events[0]?.event;
  const block = event?.type === "block_done" ? event.block : undefined;
  return block && (block.type === "text" || block.type === "thinking") ? block.text : "";
}
