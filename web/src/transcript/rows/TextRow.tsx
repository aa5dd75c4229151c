/** What the model says. */
import { useRef } from "react";
import type { TextRow as Row } from "@/state/rows";
import { LongProse } from "./LongProse";
import { useWhole } from "./whole";

export function TextRow({ row, sessionId }: { row: Row; sessionId: string }) {
  const said = useRef("");
  if (row.streaming) said.current = row.text;
  const ends = useWhole(row, said.current, sessionId);
  return (
    <div className="py-1">
      <LongProse ends={ends} streaming={row.streaming} />
      {row.partial && <p className="m-0 text-small text-ink-3">Interrupted here.</p>}
    </div>
  );
}
