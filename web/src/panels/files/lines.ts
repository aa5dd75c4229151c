/** Splits a file's text into pieces that render only when visible. */

/** Lines per piece. */
export const PIECE = 200;

export interface LinePiece {
  /** Number of its first line, from 1. */
  first: number;
  lines: string[];
}

/** The lines of a text without newlines; no empty line after a final newline. */
export function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function piecesOf(lines: readonly string[], most: number): LinePiece[] {
  const pieces: LinePiece[] = [];
  for (let position = 0; position < Math.min(most, lines.length); position += PIECE)
    pieces.push({ first: position + 1, lines: lines.slice(position, Math.min(position + PIECE, most)) });
  return pieces;
}
