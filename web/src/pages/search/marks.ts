/** Splits an excerpt into plain and matching pieces. Positions count code points, as on the server. */
export interface MarkedPiece {
  text: string;
  marked: boolean;
}

export function piecesOf(text: string, marks: readonly (readonly number[])[]): MarkedPiece[] {
  const letters = [...text];
  const pieces: MarkedPiece[] = [];
  let position = 0;
  const put = (to: number, marked: boolean) => {
    if (to > position) pieces.push({ text: letters.slice(position, to).join(""), marked });
    position = Math.max(position, to);
  };
  for (const [start = 0, end = 0] of [...marks].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0))) {
    put(Math.min(start, letters.length), false);
    put(Math.min(end, letters.length), true);
  }
  put(letters.length, false);
  return pieces;
}
