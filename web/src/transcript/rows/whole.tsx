/** Very long texts come without their middle; the whole is loaded when somebody asks for it. */
import { type ReactNode, useState } from "react";
import { said as answer, api } from "@/api/client";
import { complain } from "@/state/actions";
import type { TextRow, ThinkingRow } from "@/state/rows";
import { Button } from "@/ui/Button";
import { count } from "@/words/format";

const LEFT_OUT = /\n… (\d+) characters left out …\n/;
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
  const known = whole.get(row.id) ?? (heard.startsWith(row.text.slice(0, left.index)) ? heard : "");
  if (known.length >= row.text.length) return { text: known, more: null };
  const load = async () => {
    try {
      whole.set(row.id, await textAt(sessionId, row.seq));
      draw((drawn) => drawn + 1);
    } catch (error) {
      complain(error);
    }
  };
  const words = `Show the ${count(Number(left[1]))} characters left out`;
  return { text: row.text, more: <Button onClick={() => void load()}>{words}</Button> };
}

async function textAt(id: string, seq: number): Promise<string> {
  const query = { after: seq - 1, limit: 1 };
  const page = await answer(api.GET("/sessions/{id}/events", { params: { path: { id }, query } }));
  const event = page.events[0]?.event;
  const block = event?.type === "block_done" ? event.block : undefined;
  return block && (block.type === "text" || block.type === "thinking") ? block.text : "";
}
