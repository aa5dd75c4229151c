/** Parses search output by file (`path:12:text`, `path-11-text` for context lines). */
import type { NumberedLine } from "./FileText";

export interface FileMatches {
  path: string;
  lines: NumberedLine[];
  /** Number of matching lines. */
  hits: number;
}

const NUMBERED = /^(.+?)([:-])(\d{1,9})\2(.*)$/s;
const MOST_LINE = 10_000;

/**
 * A context line is ambiguous if paths contain numbers between dashes. Matching lines are not, so
 * the path of the last match is tried first.
 */
export function matchesOf(text: string): { files: FileMatches[]; rest: string[] } {
  const files = new Map<string, FileMatches>();
  const rest: string[] = [];
  const lines = text.split("\n");
  const paths = certain(lines);
  let last = "";
  for (const line of lines) {
    if (line === "--" || line === "") continue;
    const found = around(line, last, paths) ?? (line.length < MOST_LINE ? NUMBERED.exec(line) : null);
    if (!found) {
      rest.push(line);
      continue;
    }
    const [, path = "", mark, number, content = ""] = found;
    last = path;
    const file = files.get(path) ?? { path, lines: [], hits: 0 };
    const hit = mark === ":";
    file.lines.push({ number: Number(number), text: content.replace(/\r$/, ""), hit });
    if (hit) file.hits += 1;
    files.set(path, file);
  }
  return { files: [...files.values()].map(unmarked), rest };
}

/** If every line matched, none is marked. */
function unmarked(file: FileMatches): FileMatches {
  if (file.hits < file.lines.length) return file;
  return { ...file, lines: file.lines.map(({ number, text }) => ({ number, text })) };
}

function certain(lines: string[]): Set<string> {
  const paths = new Set<string>();
  for (const line of lines) {
    const found = line.length < MOST_LINE ? /^(.+?):\d{1,9}:/.exec(line) : null;
    if (found?.[1]) paths.add(found[1]);
  }
  return paths;
}

function around(line: string, last: string, paths: Set<string>): (string | undefined)[] | null {
  for (const path of last ? [last, ...paths] : paths) {
    if (!line.startsWith(path)) continue;
    const found = /^([:-])(\d{1,9})\1(.*)$/s.exec(line.slice(path.length));
    if (found) return [line, path, found[1], found[2], found[3]];
    if (path !== last && paths.size > 200) break;
  }
  return null;
}
