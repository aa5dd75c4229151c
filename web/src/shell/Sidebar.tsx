/** All sessions by who needs somebody, the inbox, and the way to everything else. */
export function Sidebar() {
  return null;
}
