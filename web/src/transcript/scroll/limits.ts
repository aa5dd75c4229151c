/** Limits of the virtualizer. */

/** Pixels from the end that count as the end: zoomed pages have fractional positions. */
export const AT_END = 2;
/** Overscan in pixels on either side. */
export const OVERSCAN = 600;
/** With less overscan than this, more lines are rendered. */
export const NEAR = 200;
/** Milliseconds after the last scroll event until scrolling counts as stopped. */
export const REST_MS = 160;
/** Pixels; larger corrections are applied at once. */
export const MAX_DEFERRED = 600;
/** Consecutive renders without enough lines, before waiting for the next scroll event. */
export const ROUNDS = 20;
