/** Finds sessions, commands and places by a few letters. */
export function Palette() {
  return null;
}
