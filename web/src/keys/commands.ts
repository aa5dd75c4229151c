/** All commands with their titles and default keys. `useCommand` registers what they do. */
export type Group = "Anywhere" | "Lists" | "Session" | "Decisions" | "Transcript" | "Panels";

export interface Command {
  id: string;
  title: string;
  group: Group;
  /** `mod` is ⌘ on a Mac and Ctrl elsewhere; steps of a sequence are separated by a space. Empty: no key. */
  key: string;
  /** A second default key; ignored once a person has chosen a key. */
  also?: string;
  /** Works while typing. Only for keys with a modifier, and Escape. */
  typing?: boolean;
  /** Not in the palette: it makes sense only by key. */
  quiet?: boolean;
}

export const COMMANDS = [
  {
    id: "palette",
    title: "Search or run a command",
    group: "Anywhere",
    key: "mod+k",
    typing: true,
    quiet: true,
  },
  { id: "new", title: "New session", group: "Anywhere", key: "c" },
  { id: "start", title: "Start session", group: "Anywhere", key: "mod+enter", typing: true, quiet: true },
  { id: "go.sessions", title: "Go to sessions", group: "Anywhere", key: "g s" },
  { id: "go.inbox", title: "Go to inbox", group: "Anywhere", key: "g i" },
  { id: "go.search", title: "Search all sessions", group: "Anywhere", key: "g /" },
  { id: "go.usage", title: "Go to usage", group: "Anywhere", key: "g u" },
  { id: "go.settings", title: "Go to settings", group: "Anywhere", key: "g ," },
  { id: "go.compare", title: "Compare sessions", group: "Anywhere", key: "g c" },
  { id: "next.waiting", title: "Next request", group: "Anywhere", key: "mod+shift+j", typing: true },
  { id: "help", title: "Show keyboard shortcuts", group: "Anywhere", key: "?" },
  { id: "notify", title: "Notifications on this device", group: "Anywhere", key: "" },
  { id: "theme", title: "Toggle dark mode", group: "Anywhere", key: "" },
  { id: "sidebar", title: "Toggle sidebar", group: "Anywhere", key: "mod+b", typing: true },
  { id: "panel", title: "Toggle right panel", group: "Anywhere", key: "mod+j", typing: true },
  { id: "list.down", title: "Down", group: "Lists", key: "j", quiet: true },
  { id: "list.up", title: "Up", group: "Lists", key: "k", quiet: true },
  { id: "list.open", title: "Open", group: "Lists", key: "enter", quiet: true },
  { id: "list.select.down", title: "Extend selection down", group: "Lists", key: "shift+j", quiet: true },
  { id: "list.select.up", title: "Extend selection up", group: "Lists", key: "shift+k", quiet: true },
  { id: "list.clear", title: "Clear selection", group: "Lists", key: "escape", quiet: true },
  { id: "list.archive", title: "Archive", group: "Lists", key: "e" },
  { id: "compose", title: "Write a message", group: "Session", key: "m" },
  {
    id: "stop",
    title: "Stop the agent",
    group: "Session",
    key: "escape escape",
    also: "mod+.",
    typing: true,
  },
  { id: "kill", title: "Force stop", group: "Session", key: "" },
  { id: "retry", title: "Retry or resume", group: "Session", key: "shift+r" },
  { id: "continue", title: "Continue in new session", group: "Session", key: "" },
  { id: "fork", title: "Fork session", group: "Session", key: "" },
  { id: "rename", title: "Rename session", group: "Session", key: "" },
  { id: "archive", title: "Archive session", group: "Session", key: "" },
  { id: "pin", title: "Pin session", group: "Session", key: "" },
  { id: "delete", title: "Delete session", group: "Session", key: "" },
  { id: "export", title: "Export transcript", group: "Session", key: "" },
  { id: "copy.link", title: "Copy link to session", group: "Session", key: "" },
  { id: "parent", title: "Go to parent session", group: "Session", key: "p" },
  { id: "mode.edits", title: "Accept edits", group: "Session", key: "alt+a", typing: true },
  {
    id: "mode.bypass",
    title: "Bypass permissions temporarily",
    group: "Session",
    key: "alt+y",
    typing: true,
  },
  { id: "approve", title: "Allow", group: "Decisions", key: "a", quiet: true },
  { id: "deny", title: "Deny", group: "Decisions", key: "d", quiet: true },
  { id: "row.down", title: "Next row", group: "Transcript", key: "down", quiet: true },
  { id: "row.up", title: "Previous row", group: "Transcript", key: "up", quiet: true },
  { id: "row.inspect", title: "Inspect call", group: "Transcript", key: "i", quiet: true },
  { id: "row.open", title: "Expand row", group: "Transcript", key: "l", quiet: true },
  { id: "row.close", title: "Collapse row", group: "Transcript", key: "h", quiet: true },
  { id: "latest", title: "Jump to latest", group: "Transcript", key: "shift+g" },
  { id: "last.prompt", title: "Jump to your last message", group: "Transcript", key: "u" },
  { id: "find", title: "Search in this session", group: "Transcript", key: "/" },
  { id: "filter.tools", title: "Toggle tool calls", group: "Transcript", key: "" },
  { id: "filter.thinking", title: "Toggle thinking", group: "Transcript", key: "" },
  { id: "panel.diff", title: "Changes", group: "Panels", key: "1" },
  { id: "panel.files", title: "Files", group: "Panels", key: "2" },
  { id: "panel.terminal", title: "Terminal", group: "Panels", key: "3" },
  { id: "panel.tasks", title: "Tasks", group: "Panels", key: "4" },
  { id: "panel.context", title: "Context", group: "Panels", key: "5" },
  { id: "background", title: "Background agents and commands", group: "Panels", key: "b" },
  { id: "panel.events", title: "Events", group: "Panels", key: "6" },
] as const satisfies readonly Command[];

export type CommandId = (typeof COMMANDS)[number]["id"];

export const BY_ID = Object.fromEntries(COMMANDS.map((each) => [each.id, each as Command])) as Record<
  CommandId,
  Command
>;
