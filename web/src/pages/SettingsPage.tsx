/** Rules, servers, hooks, keys, devices. */
export function SettingsPage() {
  return null;
}
