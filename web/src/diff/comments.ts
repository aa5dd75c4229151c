/** Comments on diff lines, and the lines they refer to. */
import { createContext, useContext } from "react";
import type { DiffLine } from "./lines";

export type Side = "old" | "new";

export interface LineComment {
  side: Side;
  line: number;
  /** The comment. */
  words: string;
}

export interface CommentedLine extends LineComment {
  /** The line itself. */
  text: string;
}

/** Identifies a line: removed lines by their old number, all others by their new one. */
export interface LineRef {
  side: Side;
  line: number;
}

export function lineRefOf(line: DiffLine): LineRef {
  return line.kind === "removed"
    ? { side: "old", line: line.old ?? 0 }
    : { side: "new", line: line.now ?? 0 };
}

export const keyOf = (spot: LineRef): string => `${spot.side}:${spot.line}`;

export interface Commenting {
  /** Adds a comment; undefined if comments are disabled. */
  add: ((line: CommentedLine) => void) | undefined;
  remove: ((comment: LineComment) => void) | undefined;
  /** Key of the line that is being commented on. */
  open: string;
  setOpen: (key: string) => void;
  comments: ReadonlyMap<string, readonly LineComment[]>;
}

const NONE: Commenting = {
  add: undefined,
  remove: undefined,
  open: "",
  setOpen: () => undefined,
  comments: new Map(),
};

export const CommentingContext = createContext<Commenting>(NONE);

export const useCommenting = () => useContext(CommentingContext);
