/** An excerpt in pieces, those that were looked for marked. Positions count characters as the server does. */
export interface MarkedPiece {
  text: string;
  marked: boolean;
}

export function piecesOf(text: string, marks: readonly (readonly number[])[]): MarkedPiece[] {
  const letters = [...text];
  const pieces: MarkedPiece[] = [];
  let place = 0;
  const put = (to: number, marked: boolean) => {
    if (to > place) pieces.push({ text: letters.slice(place, to).join(""), marked });
    place = Math.max(place, to);
  };
  for (const [start = 0, end = 0] of [...marks].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0))) {
    put(Math.min(start, letters.length), false);
    put(Math.min(end, letters.length), true);
  }
  put(letters.length, false);
  return pieces;
}
