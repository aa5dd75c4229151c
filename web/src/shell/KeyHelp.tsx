/** All keys on one sheet. */
export function KeyHelp() {
  return null;
}
