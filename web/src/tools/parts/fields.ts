/** Reads untrusted inputs and results of tools: a field may be missing or of any type. */
import type { ToolRow } from "@/state/rows";

export type Fields = Record<string, unknown>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The first of the named fields that is a string, number or boolean, as text. */
export function textOf(value: unknown, ...names: string[]): string {
  const fields = fieldsOf(value);
  for (const name of names) {
    const found = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof found === "string" && found) return found;
    if (typeof found === "number" || typeof found === "boolean") return String(found);
  }
  return "";
}

export function numberOf(value: unknown, name: string): number | null {
  const found = Object.hasOwn(fieldsOf(value), name) ? fieldsOf(value)[name] : null;
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}

export function listOf(value: unknown, name: string): unknown[] {
  const found = Object.hasOwn(fieldsOf(value), name) ? fieldsOf(value)[name] : null;
  return Array.isArray(found) ? found : [];
}

export function textsOf(value: unknown, name: string): string[] {
  return listOf(value, name).filter((each): each is string => typeof each === "string");
}

export function pathOf(row: Pick<ToolRow, "input" | "display">): string {
  return (
    textOf(row.input, "file_path", "notebook_path", "path") ||
    textOf(row.display, "filePath", "notebook_path") ||
    textOf(fieldsOf(row.display).file, "filePath")
  );
}

/** A path relative to the session's directory; long ones keep their end. */
export function relativePath(path: string, cwd = ""): string {
  const inside = withinDirectory(path, cwd);
  if (inside.length <= LONGEST_PLACE) return inside;
  let start = inside.lastIndexOf("/");
  for (let at = start; at > 0 && inside.length - at < LONGEST_PLACE; at = inside.lastIndexOf("/", at - 1))
    start = at;
  return start > 0 ? `…${inside.slice(start)}` : inside;
}

const LONGEST_PLACE = 60;

export function withinDirectory(path: string, cwd: string): string {
  const base = cwd.replace(/\/+$/, "");
  return base && path.startsWith(`${base}/`) ? path.slice(base.length + 1) : path;
}

/** The first line of a text, truncated. */
export function firstLine(text: string, most = 80): string {
  const line =
    text
      .slice(0, 4_000)
      .trimStart()
      .split(/[\r\n]/, 1)[0]
      ?.trimEnd() ?? "";
  const letters = [...line.slice(0, most * 2)];
  return letters.length > most || line.length > most * 2 ? `${letters.slice(0, most).join("")}…` : line;
}

export function lineCount(text: string): number {
  if (!text) return 0;
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let offset = text.indexOf("\n"); offset >= 0; offset = text.indexOf("\n", offset + 1)) lines += 1;
  return lines;
}

export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? "";
  } catch {
    return "Nested too deeply to display.";
  }
}

/** The error message without the tags meant for the model. */
export function problemOf(row: ToolRow): string {
  return row.output.replace(/^\s*<tool_use_error>([\s\S]*)<\/tool_use_error>\s*$/, "$1").trim();
}

export function hasFailed(row: ToolRow): boolean {
  const status = row.settled || row.status;
  return status === "error" || status === "denied" || status === "interrupted";
}
