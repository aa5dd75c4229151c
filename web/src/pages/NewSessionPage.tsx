/** Begins a session. */
export function NewSessionPage() {
  return null;
}
