/** Labels of a changed file, and the text shown if it has no hunks. */
import type { DiffFile } from "@/api/types";
import { bytes } from "@/format/values";

interface StatusLabel {
  letter: string;
  label: string;
  colour: string;
}

const STATUSES: Record<DiffFile["status"], StatusLabel> = {
  added: { letter: "A", label: "Added", colour: "text-done" },
  untracked: { letter: "U", label: "New, untracked", colour: "text-done" },
  modified: { letter: "M", label: "Changed", colour: "text-needs" },
  deleted: { letter: "D", label: "Deleted", colour: "text-failed" },
  renamed: { letter: "R", label: "Renamed", colour: "text-accent" },
  copied: { letter: "C", label: "Copied", colour: "text-accent" },
  type_changed: { letter: "T", label: "File type changed", colour: "text-needs" },
  unmerged: { letter: "!", label: "Conflict", colour: "text-failed" },
};

export function statusLabel(file: DiffFile): StatusLabel {
  return STATUSES[file.status] ?? STATUSES.modified;
}

/** Text shown instead of hunks; empty if there are hunks. */
export function noHunksText(file: DiffFile): string {
  const size = file.size ? `, ${bytes(file.size)}` : "";
  switch (file.view ?? "text") {
    case "binary":
      return file.status === "deleted" ? "Deleted binary file." : `Binary file${size}.`;
    case "mode_only":
      return `Only the mode changed: ${modeText(file)}.`;
    case "renamed_only":
      return `${file.status === "copied" ? "Copied" : "Renamed"} without changes.`;
    case "empty":
      return file.status === "deleted" ? "Deleted empty file." : "Empty file.";
    case "link":
      return "Symbolic link.";
    case "submodule":
      return "Submodule: points to another commit. Its content is not compared.";
    case "too_large":
      return `Too large to compare${size}.`;
    case "unreadable":
      return "The server cannot read this file.";
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

/** Label shown instead of line counts. */
export function shortLabel(file: DiffFile): string {
  const word = SHORT[file.view ?? "text"];
  if (word !== undefined) return word || statusLabel(file).label.toLowerCase();
  return file.binary ? "binary" : "";
}

export function modeText(file: DiffFile): string {
  const [before, after] = [file.old_mode ?? "", file.new_mode ?? ""];
  if (!before || !after || before === after) return "";
  if (before.endsWith("644") && after.endsWith("755")) return "now executable";
  if (before.endsWith("755") && after.endsWith("644")) return "no longer executable";
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
