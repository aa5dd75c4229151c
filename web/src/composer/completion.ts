/** Completion triggers: a file after `@`, a command after a `/` at the start of the message. */

export interface Trigger {
  kind: "file" | "command";
  /** The text after the sign. */
  query: string;
  /** Position of the sign. */
  start: number;
  end: number;
}

/** Characters searched before the caret: paths are shorter. */
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

/** The text with the completion inserted, and the new caret position. */
export function complete(text: string, trigger: Trigger, choice: string): { text: string; caret: number } {
  const sign = trigger.kind === "file" ? "@" : "/";
  // A directory gets no space: completion continues in it.
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

/** Commands whose name contains the query, those that start with it first. */
export function matching<T extends Named>(commands: readonly T[], query: string, most = 12): T[] {
  const wanted = query.toLowerCase();
  const found = commands.filter((each) => each.name.toLowerCase().includes(wanted));
  const rank = (each: T) => (each.name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name)).slice(0, most);
}

const TAGS: Record<string, string> = {
  builtin: "without the model",
  skill: "skill",
  prompt: "MCP prompt",
};

/** What kind of command it is; empty for one that a person wrote as a command. */
export function commandTag({ kind }: { kind: string }): string {
  return TAGS[kind] ?? "";
}
