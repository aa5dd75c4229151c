/** The way around on a phone. */
export function BottomBar() {
  return null;
}
