/** The time by the server's clock: what it says of moments, such as the end of a bypass, is held against this one. */

/** Milliseconds; what a connection takes is no difference between clocks. */
const SAME = 2_000;
let ahead = 0;

/** The server says what time it is, in seconds since 1970. */
export function setServerClock(seconds: number): void {
  const difference = seconds * 1000 - Date.now();
  ahead = Number.isFinite(difference) && Math.abs(difference) > SAME ? difference : 0;
}

/** Milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + ahead;
}
