/** Everything a key or the palette can do, with its name and its usual key. What it does is said where it is done. */
export type Group = "Anywhere" | "Lists" | "Session" | "Decisions" | "Transcript" | "Panels";

export interface Command {
  id: string;
  title: string;
  group: Group;
  /** `mod` is ⌘ on a Mac and Ctrl elsewhere; parts of a sequence are separated by a space. Empty: none. */
  key: string;
  /** A second key that does the same, unless a person chose another one. */
  also?: string;
  /** Also while somebody types. Only for keys with a modifier, and Escape. */
  typing?: boolean;
  /** Left out of the palette: it makes sense only by key. */
  quiet?: boolean;
}

export const COMMANDS = [
  { id: "palette", title: "Find anything", group: "Anywhere", key: "mod+k", typing: true, quiet: true },
  { id: "new", title: "New session", group: "Anywhere", key: "c" },
  { id: "start", title: "Start the session", group: "Anywhere", key: "mod+enter", typing: true, quiet: true },
  { id: "go.sessions", title: "Go to sessions", group: "Anywhere", key: "g s" },
  { id: "go.inbox", title: "Go to the inbox", group: "Anywhere", key: "g i" },
  { id: "go.search", title: "Search in all sessions", group: "Anywhere", key: "g /" },
  { id: "go.usage", title: "Go to usage", group: "Anywhere", key: "g u" },
  { id: "go.settings", title: "Go to settings", group: "Anywhere", key: "g ," },
  { id: "go.compare", title: "Compare sessions side by side", group: "Anywhere", key: "g c" },
  { id: "next.waiting", title: "Next that needs you", group: "Anywhere", key: "mod+shift+j", typing: true },
  { id: "help", title: "Show all keys", group: "Anywhere", key: "?" },
  { id: "notify", title: "Notifications on this device", group: "Anywhere", key: "" },
  { id: "theme", title: "Switch between dark and light", group: "Anywhere", key: "" },
  { id: "sidebar", title: "Show or hide the sessions", group: "Anywhere", key: "mod+b", typing: true },
  { id: "panel", title: "Show or hide the right panel", group: "Anywhere", key: "mod+j", typing: true },
  { id: "list.down", title: "Down", group: "Lists", key: "j", quiet: true },
  { id: "list.up", title: "Up", group: "Lists", key: "k", quiet: true },
  { id: "list.open", title: "Open", group: "Lists", key: "enter", quiet: true },
  { id: "list.select.down", title: "Select downwards", group: "Lists", key: "shift+j", quiet: true },
  { id: "list.select.up", title: "Select upwards", group: "Lists", key: "shift+k", quiet: true },
  { id: "list.clear", title: "Choose nothing", group: "Lists", key: "escape", quiet: true },
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
  { id: "kill", title: "Stop the agent by force", group: "Session", key: "" },
  { id: "retry", title: "Retry or resume", group: "Session", key: "shift+r" },
  { id: "continue", title: "Go on in a new session", group: "Session", key: "" },
  { id: "fork", title: "Fork the session here", group: "Session", key: "" },
  { id: "rename", title: "Rename the session", group: "Session", key: "" },
  { id: "archive", title: "Archive the session", group: "Session", key: "" },
  { id: "pin", title: "Pin the session", group: "Session", key: "" },
  { id: "delete", title: "Delete the session", group: "Session", key: "" },
  { id: "export", title: "Export the transcript", group: "Session", key: "" },
  { id: "copy.link", title: "Copy a link to this session", group: "Session", key: "" },
  { id: "parent", title: "Go to the session this one goes on from", group: "Session", key: "p" },
  { id: "mode.edits", title: "Accept edits without asking", group: "Session", key: "alt+a", typing: true },
  {
    id: "mode.bypass",
    title: "Bypass permissions for a while",
    group: "Session",
    key: "alt+y",
    typing: true,
  },
  { id: "approve", title: "Allow", group: "Decisions", key: "a", quiet: true },
  { id: "deny", title: "Deny", group: "Decisions", key: "d", quiet: true },
  { id: "row.down", title: "Next row", group: "Transcript", key: "down", quiet: true },
  { id: "row.up", title: "Row before", group: "Transcript", key: "up", quiet: true },
  { id: "row.inspect", title: "Look at a call in full", group: "Transcript", key: "i", quiet: true },
  { id: "row.open", title: "Open a fold", group: "Transcript", key: "l", quiet: true },
  { id: "row.close", title: "Close a fold", group: "Transcript", key: "h", quiet: true },
  { id: "latest", title: "Jump to the latest", group: "Transcript", key: "shift+g" },
  { id: "last.prompt", title: "Jump to your last message", group: "Transcript", key: "u" },
  { id: "find", title: "Search in this session", group: "Transcript", key: "/" },
  { id: "filter.tools", title: "Show or hide tool calls", group: "Transcript", key: "" },
  { id: "filter.thinking", title: "Show or hide thinking", group: "Transcript", key: "" },
  { id: "panel.diff", title: "Changes", group: "Panels", key: "1" },
  { id: "panel.files", title: "Files", group: "Panels", key: "2" },
  { id: "panel.terminal", title: "Terminal", group: "Panels", key: "3" },
  { id: "panel.tasks", title: "Tasks", group: "Panels", key: "4" },
  { id: "panel.context", title: "Context", group: "Panels", key: "5" },
  { id: "panel.events", title: "Events", group: "Panels", key: "6" },
] as const satisfies readonly Command[];

export type CommandId = (typeof COMMANDS)[number]["id"];

export const BY_ID = Object.fromEntries(COMMANDS.map((each) => [each.id, each as Command])) as Record<
  CommandId,
  Command
>;
