/** What is being typed at the caret that could be completed: a file after `@`, a command after a `/` that begins the message. */

export interface Trigger {
  kind: "file" | "command";
  /** What was typed after the sign. */
  query: string;
  /** Where the sign stands. */
  start: number;
  end: number;
}

/** Looked for no further back than this: a path is no longer. */
const FAR = 300;

export function triggerAt(text: string, caret: number): Trigger | null {
  const from = Math.max(0, caret - FAR);
  const before = text.slice(from, caret);
  const command = caret <= FAR ? /^\/([^\s/]*)$/.exec(before) : null;
  if (command) return { kind: "command", query: command[1] ?? "", start: 0, end: caret };
  const file = /(?:^|[\s([{"'`])@([^\s@]*)$/.exec(before);
  if (!file) return null;
  const query = file[1] ?? "";
  return { kind: "file", query, start: caret - query.length - 1, end: caret };
}

/** The text with the choice in place of what was typed, and where the caret then stands. */
export function completed(text: string, trigger: Trigger, choice: string): { text: string; caret: number } {
  const sign = trigger.kind === "file" ? "@" : "/";
  // A directory is not the end of a path: the next one is chosen in it.
  const end = choice.endsWith("/") ? "" : " ";
  const word = `${sign}${choice}${end}`;
  const rest = text.slice(trigger.end);
  const after = end && rest.startsWith(" ") ? rest.slice(1) : rest;
  return { text: text.slice(0, trigger.start) + word + after, caret: trigger.start + word.length };
}

export interface Named {
  name: string;
  description: string;
}

/** Commands whose name holds the letters: those that begin with them first. */
export function matching<T extends Named>(commands: readonly T[], query: string, most = 12): T[] {
  const wanted = query.toLowerCase();
  const found = commands.filter((each) => each.name.toLowerCase().includes(wanted));
  const rank = (each: T) => (each.name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name)).slice(0, most);
}
