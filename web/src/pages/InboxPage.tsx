/** All that waits for a person, over all sessions. */
export function InboxPage() {
  return null;
}
