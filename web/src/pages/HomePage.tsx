/** The first place: what needs you, what runs, or how to begin. */
export function HomePage() {
  return null;
}
