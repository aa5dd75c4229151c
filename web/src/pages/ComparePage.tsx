/** Two or more sessions side by side. */
export function ComparePage() {
  return null;
}
