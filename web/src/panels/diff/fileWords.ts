/** What a changed file is called in a list, and what is said where there are no lines to show. */
import type { DiffFile } from "@/api/types";
import { bytes } from "@/words/format";

interface StatusWords {
  letter: string;
  word: string;
  colour: string;
}

const STATUSES: Record<DiffFile["status"], StatusWords> = {
  added: { letter: "A", word: "Added", colour: "text-done" },
  untracked: { letter: "U", word: "New, not in git yet", colour: "text-done" },
  modified: { letter: "M", word: "Changed", colour: "text-needs" },
  deleted: { letter: "D", word: "Deleted", colour: "text-failed" },
  renamed: { letter: "R", word: "Renamed", colour: "text-accent" },
  copied: { letter: "C", word: "Copied", colour: "text-accent" },
  type_changed: { letter: "T", word: "Kind of file changed", colour: "text-needs" },
  unmerged: { letter: "!", word: "In conflict", colour: "text-failed" },
};

export function statusOf(file: DiffFile): StatusWords {
  return STATUSES[file.status] ?? STATUSES.modified;
}

/** The line that stands where the hunks would be; empty if there are hunks to show. */
export function insteadOfHunks(file: DiffFile): string {
  const size = file.size ? ` It has ${bytes(file.size)}.` : "";
  switch (file.view ?? "text") {
    case "binary":
      return file.status === "deleted" ? "A binary file that was deleted." : `A binary file.${size}`;
    case "mode_only":
      return `Only its mode changed: ${modeWords(file)}.`;
    case "renamed_only":
      return `${file.status === "copied" ? "Copied" : "Renamed"} without a change of its content.`;
    case "empty":
      return file.status === "deleted" ? "An empty file that was deleted." : "An empty file.";
    case "link":
      return "A symbolic link.";
    case "submodule":
      return "A submodule: another commit of another repository. It is not looked into.";
    case "too_large":
      return `Too large to compare.${size}`;
    case "unreadable":
      return "This file cannot be read by the server.";
    default:
      return "";
  }
}

const SHORT: Partial<Record<NonNullable<DiffFile["view"]>, string>> = {
  binary: "binary",
  mode_only: "mode",
  renamed_only: "",
  empty: "empty",
  link: "link",
  submodule: "submodule",
  too_large: "too large",
  unreadable: "unreadable",
};

/** What stands in place of the counts, where counting lines says nothing. */
export function shortWord(file: DiffFile): string {
  const word = SHORT[file.view ?? "text"];
  if (word !== undefined) return word || statusOf(file).word.toLowerCase();
  return file.binary ? "binary" : "";
}

export function modeWords(file: DiffFile): string {
  const [before, after] = [file.old_mode ?? "", file.new_mode ?? ""];
  if (!before || !after || before === after) return "";
  if (before.endsWith("644") && after.endsWith("755")) return "it can be executed now";
  if (before.endsWith("755") && after.endsWith("644")) return "it can no longer be executed";
  return `${before} to ${after}`;
}

export interface Total {
  added: number;
  removed: number;
}

export function totalOf(files: readonly DiffFile[]): Total {
  let [added, removed] = [0, 0];
  for (const file of files) {
    added += file.added ?? 0;
    removed += file.removed ?? 0;
  }
  return { added, removed };
}
