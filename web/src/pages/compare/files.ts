/** Files changed by several sessions. */
import type { DiffFile } from "@/api/types";

export interface ComparedFile {
  path: string;
  /** One entry per session, in order; undefined if unchanged. */
  of: (DiffFile | undefined)[];
}

export function compared(lists: readonly (readonly DiffFile[] | undefined)[]): ComparedFile[] {
  const found = new Map<string, ComparedFile>();
  lists.forEach((files, index) => {
    for (const file of files ?? []) {
      const known = found.get(file.path) ?? { path: file.path, of: lists.map(() => undefined) };
      known.of[index] = file;
      found.set(file.path, known);
    }
  });
  // Files changed by most sessions come first.
  return [...found.values()].sort(
    (a, b) => touched(b) - touched(a) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0),
  );
}

function touched(file: ComparedFile): number {
  return file.of.filter(Boolean).length;
}
