/** A file's text in pieces that a browser draws only where they are seen. */

/** Lines a piece has: small enough to be drawn at once, large enough that there are few of them. */
export const PIECE = 200;

export interface LinePiece {
  /** The number of its first line, from 1. */
  first: number;
  lines: string[];
}

/** Lines without their ends; the empty one after a last newline is none. */
export function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function piecesOf(lines: readonly string[], most: number): LinePiece[] {
  const pieces: LinePiece[] = [];
  for (let place = 0; place < Math.min(most, lines.length); place += PIECE)
    pieces.push({ first: place + 1, lines: lines.slice(place, Math.min(place + PIECE, most)) });
  return pieces;
}
