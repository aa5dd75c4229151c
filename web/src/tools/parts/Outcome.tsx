/** How a call ended, where that is not simply its output: done, failed, denied, interrupted. From its status, never from its words. */
import type { ToolRow } from "@/state/rows";
import { hasFailed, problemOf } from "./fields";
import { LongText } from "./LongText";

/** What went wrong; nothing if nothing did. */
export function Problem({ row }: { row: ToolRow }) {
  if (!hasFailed(row)) return null;
  const status = row.settled || row.status;
  const head = status === "denied" ? "Denied" : status === "interrupted" ? "Interrupted" : "Failed";
  const words = problemOf(row);
  return (
    <div className="min-w-0 text-failed">
      <span className="font-medium">✗ {head}</span>
      {words && <LongText text={words} most={30} />}
    </div>
  );
}

/** `✓ Applied`, or what went wrong (S000-76). */
export function Applied({ row, word = "Applied" }: { row: ToolRow; word?: string }) {
  if (hasFailed(row)) return <Problem row={row} />;
  if ((row.settled || row.status) !== "completed") return null;
  return <p className="m-0 text-done">✓ {word}</p>;
}
