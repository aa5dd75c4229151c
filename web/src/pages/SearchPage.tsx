/** Searches what was said and done in all sessions. */
export function SearchPage() {
  return null;
}
