/** Outcome of a call: done, failed, denied or interrupted. From its status, never from its text. */
import type { ToolRow } from "@/state/rows";
import { hasFailed, problemOf } from "./fields";
import { LongText } from "./LongText";

/** The error of a call, if there is one. */
export function Problem({ row }: { row: ToolRow }) {
  if (!hasFailed(row)) return null;
  const status = row.settled || row.status;
  const head = status === "denied" ? "Denied" : status === "interrupted" ? "Interrupted" : "Failed";
  const message = problemOf(row);
  return (
    <div className="min-w-0 text-failed">
      <span className="font-medium">✗ {head}</span>
      {message && <LongText text={message} most={30} />}
    </div>
  );
}

/** `✓ Applied`, or the error. */
export function Applied({ row, word = "Applied" }: { row: ToolRow; word?: string }) {
  if (hasFailed(row)) return <Problem row={row} />;
  if ((row.settled || row.status) !== "completed") return null;
  return <p className="m-0 text-done">✓ {word}</p>;
}
