/** Tokens, money and time, by day, model and project. */
export function UsagePage() {
  return null;
}
