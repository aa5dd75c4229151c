/** Tells a person who looks elsewhere: title, favicon, desktop. */
export function Notifications() {
  return null;
}
