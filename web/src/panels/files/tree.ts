/** Visible lines of a file tree, and keyboard navigation. */
import type { DirectoryEntry } from "@/api/types";

export interface Line {
  path: string;
  name: string;
  kind: DirectoryEntry["kind"];
  ignored: boolean;
  /** From 1, as screen readers count. */
  level: number;
  open: boolean;
  size: number;
  target: string;
  /** Text instead of an entry: loading, a problem, or the number of further entries. */
  text: string;
}

export interface Folder {
  entries: readonly DirectoryEntry[];
  /** Number of entries that are not listed. */
  more: number;
  problem: string;
}

/** `folders` are the loaded ones; an open folder that is not in it is loading. */
export function linesOf(folders: ReadonlyMap<string, Folder>, open: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  const add = (path: string, level: number): void => {
    const folder = folders.get(path);
    if (!folder) {
      lines.push(textLine(path, level, "Loading"));
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
        text: "",
      });
      if (isOpen) add(entry.path, level + 1);
    }
    if (folder.problem) lines.push(textLine(path, level, folder.problem));
    else if (folder.more > 0) lines.push(textLine(path, level, `${folder.more.toLocaleString("en")} more`));
    else if (folder.entries.length === 0) lines.push(textLine(path, level, "Empty"));
  };
  add("", 1);
  return lines;
}

function textLine(path: string, level: number, text: string): Line {
  return {
    path: `${path}/`,
    name: "",
    kind: "other",
    ignored: true,
    level,
    open: false,
    size: 0,
    target: "",
    text,
  };
}

export type Move = { to: string } | { open: string } | { close: string } | { choose: string } | null;

/** What a key does, by the ARIA tree pattern. */
export function moveBy(key: string, lines: readonly Line[], active: string): Move {
  const real = lines.filter((line) => !line.text);
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
  for (let position = at - 1; position >= 0; position -= 1) {
    const line = lines[position];
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

/** All parent directories of a path. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
