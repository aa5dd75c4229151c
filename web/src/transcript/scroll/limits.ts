/** Numbers of the reading place: how near is near, how long is at rest. */

/** Closer to the end than this is at the end: zoomed pages have fractions of pixels, and people no steady hand. */
export const AT_END = 2;
/** Pixels that are drawn beyond what is seen, on either side. */
export const BEYOND = 600;
/** Nearer than this to what is not drawn, more is drawn. */
export const NEAR = 200;
/** Milliseconds after the last movement of a hand. */
export const STILL = 160;
/** Pixels; what moves further than this is put right at once. */
export const FAR = 600;
/** Drawings in a row that may each turn out to show too little; then the next movement has to ask. */
export const ROUNDS = 20;
