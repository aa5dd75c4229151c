/** A tree of files as the lines that are seen of it, and where keys lead from one to another. */
import type { FileEntry } from "@/api/types";

export interface Line {
  path: string;
  name: string;
  kind: FileEntry["kind"];
  ignored: boolean;
  /** From 1, as screen readers count. */
  level: number;
  open: boolean;
  size: number;
  target: string;
  /** Words that stand in place of entries: loading, a problem, or that there are more. */
  words: string;
}

export interface Folder {
  entries: readonly FileEntry[];
  /** Entries that are not listed. */
  more: number;
  problem: string;
}

/** `folders` are those that were loaded; one that is open and not in it is being loaded. */
export function linesOf(folders: ReadonlyMap<string, Folder>, open: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  const add = (path: string, level: number): void => {
    const folder = folders.get(path);
    if (!folder) {
      lines.push(wordsLine(path, level, "Loading"));
      return;
    }
    for (const entry of folder.entries) {
      const isOpen = entry.kind === "directory" && open.has(entry.path);
      lines.push({
        path: entry.path,
        name: entry.name,
        kind: entry.kind,
        ignored: entry.ignored ?? false,
        level,
        open: isOpen,
        size: entry.size ?? 0,
        target: entry.target ?? "",
        words: "",
      });
      if (isOpen) add(entry.path, level + 1);
    }
    if (folder.problem) lines.push(wordsLine(path, level, folder.problem));
    else if (folder.more > 0) lines.push(wordsLine(path, level, `${folder.more.toLocaleString("en")} more`));
    else if (folder.entries.length === 0) lines.push(wordsLine(path, level, "Empty"));
  };
  add("", 1);
  return lines;
}

function wordsLine(path: string, level: number, words: string): Line {
  return {
    path: `${path}/`,
    name: "",
    kind: "other",
    ignored: true,
    level,
    open: false,
    size: 0,
    target: "",
    words,
  };
}

export type Move = { to: string } | { open: string } | { close: string } | { choose: string } | null;

/** What a key does in a tree, by the pattern of trees everywhere. */
export function moveBy(key: string, lines: readonly Line[], active: string): Move {
  const real = lines.filter((line) => !line.words);
  const at = real.findIndex((line) => line.path === active);
  const line = real[at];
  const to = (index: number): Move => {
    const found = real[Math.max(0, Math.min(real.length - 1, index))];
    return found ? { to: found.path } : null;
  };
  switch (key) {
    case "ArrowDown":
      return to(at + 1);
    case "ArrowUp":
      return to(at < 0 ? 0 : at - 1);
    case "Home":
      return to(0);
    case "End":
      return to(real.length - 1);
    case "ArrowRight":
      if (line?.kind !== "directory") return null;
      return line.open ? childOf(real, at) : { open: line.path };
    case "ArrowLeft":
      if (!line) return null;
      if (line.open) return { close: line.path };
      return parentOf(real, at);
    case "Enter":
    case " ":
      if (!line) return null;
      if (line.kind === "directory") return line.open ? { close: line.path } : { open: line.path };
      return { choose: line.path };
    default:
      return key.length === 1 ? byLetter(real, at, key) : null;
  }
}

function childOf(lines: readonly Line[], at: number): Move {
  const next = lines[at + 1];
  return next && next.level > (lines[at]?.level ?? 0) ? { to: next.path } : null;
}

function parentOf(lines: readonly Line[], at: number): Move {
  const level = lines[at]?.level ?? 1;
  for (let place = at - 1; place >= 0; place -= 1) {
    const line = lines[place];
    if (line && line.level < level) return { to: line.path };
  }
  return null;
}

function byLetter(lines: readonly Line[], at: number, letter: string): Move {
  const wanted = letter.toLowerCase();
  for (let step = 1; step <= lines.length; step += 1) {
    const line = lines[(Math.max(0, at) + step) % lines.length];
    if (line?.name.toLowerCase().startsWith(wanted)) return { to: line.path };
  }
  return null;
}

/** Every directory above a path, so that the path can be seen. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
