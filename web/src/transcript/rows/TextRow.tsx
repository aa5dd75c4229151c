/** Text of the model. */
import { useRef } from "react";
import type { TextRow as Row } from "@/state/rows";
import { useFullText } from "./fullText";
import { LongProse } from "./LongProse";

export function TextRow({ row, sessionId }: { row: Row; sessionId: string }) {
  const streamed = useRef("");
  if (row.streaming) streamed.current = row.text;
  const ends = useFullText(row, streamed.current, sessionId);
  return (
    <div className="py-1">
      <LongProse text={ends} streaming={row.streaming} />
      {row.partial && <p className="m-0 text-small text-ink-3">Interrupted</p>}
    </div>
  );
}
