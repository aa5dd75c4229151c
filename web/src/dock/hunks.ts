/** Parts of an edit that is asked for, each taken or left: what is allowed is built of those that are taken. */
import { CONTEXT, type DiffHunk, diffTexts, hunksOfPiece, linesOf } from "@/diff/lines";
import { plural } from "@/words/format";

export interface Proposal {
  path: string;
  hunks: DiffHunk[];
  /** What the hunks alone do not show; empty where they show it all. */
  about: string;
  /** Whether single hunks can be left out: not where one input stands for several places. */
  divisible: boolean;
  /** The input with only the hunks that are not left out; null where nothing would be left of it. */
  without(left: ReadonlySet<number>): Record<string, unknown> | null;
}

/** What a call of Edit or Write would change; null for other tools, and for inputs that are not as they should be. */
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
      about: input.replace_all === true ? everyWords(file, old_string) : "",
    };
  if (tool === "Write" && typeof content === "string" && file !== null)
    return proposal(file_path, file, content, input, "content", 0);
  return null;
}

/** Lines of a change that are shown with their surroundings; of a longer one only the texts that are replaced. */
const MOST_LINES = 2_000;

/** The change as it would stand in the file, with whole lines around it; null where it would not apply. */
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
  const about = input.replace_all === true ? everyWords(file, String(input.old_string)) : "";
  return { path: String(input.file_path), hunks, about, divisible, without };
}

function applied(text: string, edit: unknown): string | null {
  const { old_string, new_string, replace_all } = (edit ?? {}) as Record<string, unknown>;
  if (typeof old_string !== "string" || typeof new_string !== "string" || !old_string) return null;
  const pieces = text.split(old_string);
  if (pieces.length < 2 || (pieces.length > 2 && replace_all !== true)) return null;
  return pieces.join(new_string);
}

/** The same edit with another outcome; null where that differs from the file elsewhere than in what is replaced. */
function part(input: Record<string, unknown>, file: string, wanted: string): Record<string, unknown> | null {
  const old = String(input.old_string);
  const place = file.indexOf(old);
  const [before, behind] = [file.slice(0, place), file.slice(place + old.length)];
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

/** The old text with the hunks that are taken put into it. */
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

/** How many old lines stand before a hunk. One that only adds, with nothing around it, belongs to an empty text. */
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

/** One place stands for all of them: whoever allows it has to know. */
function everyWords(file: string | null, old: string): string {
  const places = file && old ? file.split(old).length - 1 : 0;
  const known = places > 0 ? `: ${plural(places, "place")}` : "";
  return `This is done at every occurrence in the file${known}.`;
}

/** How many lines of the file stand before what is replaced; 0 where that is not known. */
function lineOf(file: string | null, old: string): number {
  const place = file && old ? file.indexOf(old) : -1;
  return place > 0 && file ? file.slice(0, place).split("\n").length - 1 : 0;
}
