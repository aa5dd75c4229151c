/** Hunks of an Edit, MultiEdit or Write call: as reported by the tool, or as requested by the input. */
import { type DiffHunk, diffTexts, hunksOfPiece, parsePatch } from "@/diff/lines";
import { fieldsOf, listOf, textOf } from "./fields";

export interface Changes {
  hunks: DiffHunk[];
  /** Whether line numbers are those of the file. */
  numbers: boolean;
}

/** The changes the tool reported, if any. */
export function reportedChanges(display: unknown): Changes | null {
  const hunks = parsePatch(fieldsOf(display).structuredPatch);
  return hunks.length > 0 ? { hunks, numbers: true } : null;
}

export function requestedEdits(input: unknown): Changes {
  const edits = listOf(input, "edits").map(fieldsOf);
  const all = edits.length > 0 ? edits : [fieldsOf(input)];
  const hunks = all.flatMap((edit, index) => {
    const own = hunksOfPiece(diffTexts(textOf(edit, "old_string"), textOf(edit, "new_string"), 3));
    const header = all.length > 1 ? `Edit ${index + 1} of ${all.length}${everyOccurrenceText(edit)}` : "";
    return own.map((hunk) => (header ? { ...hunk, header } : hunk));
  });
  return { hunks, numbers: false };
}

export function everyOccurrenceText(edit: unknown): string {
  return fieldsOf(edit).replace_all === true ? " · every occurrence" : "";
}

export function requestedContent(input: unknown): Changes {
  return { hunks: diffTexts("", textOf(input, "content")), numbers: true };
}
