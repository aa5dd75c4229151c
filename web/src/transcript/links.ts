/** Links to rows and calls. */
import type { Row } from "@/state/rows";

export function linkTo(sessionId: string, row: Row): string {
  const what = row.kind === "tool" ? "call" : "row";
  return `${location.origin}/session/${encodeURIComponent(sessionId)}?${what}=${encodeURIComponent(row.id)}`;
}
