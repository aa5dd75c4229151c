/** The hunks of a requested edit, each included or excluded, and the input that results. */
import { CONTEXT, type DiffHunk, diffTexts, hunksOfPiece, linesOf } from "@/diff/lines";
import { plural } from "@/format/values";

export interface Proposal {
  path: string;
  hunks: DiffHunk[];
  /** A note on what the hunks do not show; empty if there is nothing. */
  about: string;
  /** Whether hunks can be excluded: not if one input applies to several places. */
  divisible: boolean;
  /** The input without the excluded hunks; null if nothing is left. */
  without(left: ReadonlySet<number>): Record<string, unknown> | null;
}

/** What a call of Edit or Write would change; null for other tools and malformed input. */
export function proposalOf(
  tool: string,
  input: Record<string, unknown>,
  file: string | null,
): Proposal | null {
  const { file_path, old_string, new_string, content } = input;
  if (typeof file_path !== "string") return null;
  const found = file === null ? null : inFile(tool, input, file);
  if (found) return found;
  if (tool === "Edit" && typeof old_string === "string" && typeof new_string === "string")
    return {
      ...proposal(file_path, old_string, new_string, input, "new_string", lineOf(file, old_string)),
      about: input.replace_all === true ? everyOccurrenceText(file, old_string) : "",
    };
  if (tool === "Write" && typeof content === "string" && file !== null)
    return proposal(file_path, file, content, input, "content", 0);
  return null;
}

/** Larger changes are shown without context, only the replaced texts. */
const MOST_LINES = 2_000;

/** The change in the file with context lines; null if it would not apply. */
function inFile(tool: string, input: Record<string, unknown>, file: string): Proposal | null {
  const several = tool === "MultiEdit";
  if (tool !== "Edit" && !several) return null;
  const edits = several ? (Array.isArray(input.edits) ? (input.edits as unknown[]) : []) : [input];
  let after = file;
  for (const edit of edits) {
    const next = applied(after, edit);
    if (next === null) return null;
    after = next;
  }
  const hunks = diffTexts(file, after, CONTEXT);
  if (hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) > MOST_LINES) return null;
  const single = !several && input.replace_all !== true;
  const without = (left: ReadonlySet<number>) => {
    if (left.size === 0) return input;
    return single && left.size < hunks.length ? part(input, file, merged(file, hunks, left)) : null;
  };
  const divisible = single && hunks.every((_, index) => hunks.length === 1 || without(new Set([index])));
  if (single && !divisible) return null;
  const about = input.replace_all === true ? everyOccurrenceText(file, String(input.old_string)) : "";
  return { path: String(input.file_path), hunks, about, divisible, without };
}

function applied(text: string, edit: unknown): string | null {
  const { old_string, new_string, replace_all } = (edit ?? {}) as Record<string, unknown>;
  if (typeof old_string !== "string" || typeof new_string !== "string" || !old_string) return null;
  const pieces = text.split(old_string);
  if (pieces.length < 2 || (pieces.length > 2 && replace_all !== true)) return null;
  return pieces.join(new_string);
}

/** The edit that produces `wanted`; null if that also differs outside the replaced text. */
function part(input: Record<string, unknown>, file: string, wanted: string): Record<string, unknown> | null {
  const old = String(input.old_string);
  const offset = file.indexOf(old);
  const [before, behind] = [file.slice(0, offset), file.slice(offset + old.length)];
  const fits = wanted.length >= before.length + behind.length;
  if (!fits || !wanted.startsWith(before) || !wanted.endsWith(behind)) return null;
  return { ...input, new_string: wanted.slice(before.length, wanted.length - behind.length) };
}

function proposal(
  path: string,
  before: string,
  after: string,
  input: Record<string, unknown>,
  field: string,
  offset: number,
): Proposal {
  const own = diffTexts(before, after, 3);
  const shown = field === "new_string" ? hunksOfPiece(own) : own;
  return {
    path,
    about: "",
    divisible: input.replace_all !== true,
    hunks: offset > 0 ? shown.map((hunk) => moved(hunk, offset)) : shown,
    without: (left) => {
      if (left.size === 0) return input;
      return left.size >= own.length ? null : { ...input, [field]: merged(before, own, left) };
    },
  };
}

/** The old text with the included hunks applied. */
export function merged(before: string, hunks: readonly DiffHunk[], left: ReadonlySet<number>): string {
  const old = linesOf(before);
  const found: string[] = [];
  let at = 0;
  hunks.forEach((hunk, index) => {
    const begins = firstOld(hunk, old.length);
    found.push(...old.slice(at, begins));
    const length = hunk.lines.filter((line) => line.old !== null).length;
    if (left.has(index)) found.push(...old.slice(begins, begins + length));
    else
      for (const line of hunk.lines)
        if (line.kind !== "removed") found.push(line.bare ? line.text : `${line.text}\n`);
    at = begins + length;
  });
  return [...found, ...old.slice(at)].join("");
}

/** The number of old lines before a hunk. A hunk that only adds and has no context belongs to an empty text. */
function firstOld(hunk: DiffHunk, length: number): number {
  const first = hunk.lines.find((line) => line.old !== null)?.old;
  return first ? first - 1 : Math.min(length, Math.max(0, hunk.oldStart - 1));
}

function moved(hunk: DiffHunk, by: number): DiffHunk {
  const later = (number: number | null) => (number === null ? null : number + by);
  return {
    ...hunk,
    oldStart: hunk.oldStart + by,
    newStart: hunk.newStart + by,
    lines: hunk.lines.map((line) => ({ ...line, old: later(line.old), now: later(line.now) })),
  };
}

/** One hunk is shown for all occurrences: say so. */
function everyOccurrenceText(file: string | null, old: string): string {
  const matches = file && old ? file.split(old).length - 1 : 0;
  const known = matches > 0 ? `: ${plural(matches, "place")}` : "";
  return `This applies to every occurrence in the file${known}.`;
}

/** Lines before the replaced text; 0 if unknown. */
function lineOf(file: string | null, old: string): number {
  const offset = file && old ? file.indexOf(old) : -1;
  return offset > 0 && file ? file.slice(0, offset).split("\n").length - 1 : 0;
}
