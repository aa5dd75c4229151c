/** Arranges a hunk side by side: removed lines beside added ones. */
import type { DiffLine } from "./lines";

export interface SplitRow {
  left: DiffLine | null;
  right: DiffLine | null;
}

export function splitRows(lines: readonly DiffLine[]): SplitRow[] {
  const rows: SplitRow[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const close = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      rows.push({ left: removed[index] ?? null, right: added[index] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "same") {
      close();
      rows.push({ left: line, right: line });
    } else if (line.kind === "removed") {
      if (added.length > 0) close();
      removed.push(line);
    } else added.push(line);
  }
  close();
  return rows;
}
