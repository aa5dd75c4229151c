/** What a call prints while it runs, or what the model writes for it: the end of it, in a box that keeps its height. */
import type { ToolRow } from "@/state/rows";
import { Ansi } from "@/text/Ansi";
import { inputSoFar, lastLines, longestText } from "./writing";

const LINES = 8;

export function ToolTail({ row }: { row: ToolRow }) {
  const writing = row.status === "writing" ? lastLines(longestText(inputSoFar(row.writing)), LINES) : "";
  const printed = row.status === "running" && row.tail ? lastLines(row.tail, LINES) : "";
  if (!writing && !printed) return null;
  return (
    <pre
      aria-label={writing ? "Being written" : "Output so far"}
      role="img"
      className="m-0 mb-1 ml-[30px] flex h-[160px] flex-col justify-end overflow-hidden rounded-box bg-surface-1 px-3 py-1 font-mono text-code text-ink-2"
    >
      <span className="block whitespace-pre">{printed ? <Ansi text={printed} /> : writing}</span>
    </pre>
  );
}
