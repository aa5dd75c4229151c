/** The server's clock. Times the server sends, such as the end of a bypass, are compared with this one. */

/** Smaller differences are network latency. */
const TOLERANCE_MS = 2_000;
let offset = 0;

/** Sets the server's current time, in seconds since 1970. */
export function setServerClock(seconds: number): void {
  const difference = seconds * 1000 - Date.now();
  offset = Number.isFinite(difference) && Math.abs(difference) > TOLERANCE_MS ? difference : 0;
}

/** Milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + offset;
}
