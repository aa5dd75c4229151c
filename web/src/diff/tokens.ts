/** The colours of code in a hunk, line by line; none while they are being found, for large hunks, and for plain text. */
import type { DiffHunk, DiffLine } from "./lines";
import type { Token } from "./segments";

type OfLines = ReadonlyMap<DiffLine, readonly Token[]>;

export interface Colours {
  old: OfLines;
  now: OfLines;
}

export function useColours(_hunk: DiffHunk, _path: string): Colours | null {
  return null;
}
