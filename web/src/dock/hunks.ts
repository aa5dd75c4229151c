/** Parts of an edit that is asked for, each taken or left: what is allowed is built of those that are taken. */
import { type DiffHunk, diffTexts, hunksOfPiece, linesOf } from "@/diff/lines";
import { plural } from "@/words/format";

export interface Proposal {
  path: string;
  hunks: DiffHunk[];
  /** What the hunks alone do not show; empty where they show it all. */
  about: string;
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
  if (tool === "Edit" && typeof old_string === "string" && typeof new_string === "string")
    return {
      ...proposal(file_path, old_string, new_string, input, "new_string", lineOf(file, old_string)),
      about: input.replace_all === true ? everyWords(file, old_string) : "",
    };
  if (tool === "Write" && typeof content === "string" && file !== null)
    return proposal(file_path, file, content, input, "content", 0);
  return null;
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
