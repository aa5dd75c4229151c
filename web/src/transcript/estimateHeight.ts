/** Estimated height of a line before it is measured. */
import type { Item, Row } from "@/state/rows";

const LINE = 22;
const LETTERS = 95;

export function estimateHeight(item: Item, row: Row | undefined): number {
  if (item.group || !row) return 32;
  switch (row.kind) {
    case "user":
      return 40 + LINE * linesOf(row.text);
    case "text":
      return 16 + LINE * linesOf(row.text) * 1.1;
    case "tool":
      return row.status === "error" ? 150 : 32;
    default:
      return 32;
  }
}

function linesOf(text: string): number {
  let count = 1;
  const most = Math.min(text.length, 4000);
  for (let at = text.indexOf("\n"); at >= 0 && at < most; at = text.indexOf("\n", at + 1)) count += 1;
  return count + Math.floor(text.length / LETTERS);
}
