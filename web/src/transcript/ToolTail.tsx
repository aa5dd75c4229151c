/** The end of a running call's output, or of the input that is being written, in a box of fixed height. */
import type { ToolRow } from "@/state/rows";
import { Ansi } from "@/text/Ansi";
import { lastLines, longestText, parsePartialInput } from "./partialInput";

const LINES = 8;

export function ToolTail({ row }: { row: ToolRow }) {
  const writing =
    row.status === "writing" ? lastLines(longestText(parsePartialInput(row.writing)), LINES) : "";
  const printed = row.status === "running" && row.tail ? lastLines(row.tail, LINES) : "";
  if (!writing && !printed) return null;
  return (
    <pre
      aria-label={writing ? "Input so far" : "Output so far"}
      role="img"
      className="m-0 mb-1 ml-[30px] flex h-[160px] flex-col justify-end overflow-hidden rounded-box bg-surface-1 px-3 py-1 font-mono text-code text-ink-2"
    >
      <span className="block whitespace-pre">{printed ? <Ansi text={printed} /> : writing}</span>
    </pre>
  );
}
