/** Comments on the lines of a diff: which line each is of. */
import { createContext, useContext } from "react";
import type { DiffLine } from "./lines";

export type Side = "old" | "new";

export interface LineComment {
  side: Side;
  line: number;
  /** What was said of it. */
  words: string;
}

export interface CommentedLine extends LineComment {
  /** The line itself. */
  text: string;
}

/** What a line is called: a removed one by its old number, every other by its new one. */
export interface Spot {
  side: Side;
  line: number;
}

export function spotOf(line: DiffLine): Spot {
  return line.kind === "removed"
    ? { side: "old", line: line.old ?? 0 }
    : { side: "new", line: line.now ?? 0 };
}

export const keyOf = (spot: Spot): string => `${spot.side}:${spot.line}`;

export interface Commenting {
  /** Nothing can be said here unless there is somebody to tell. */
  tell: ((line: CommentedLine) => void) | undefined;
  remove: ((comment: LineComment) => void) | undefined;
  /** The line somebody is writing about, by its key. */
  open: string;
  setOpen: (key: string) => void;
  said: ReadonlyMap<string, readonly LineComment[]>;
}

const NONE: Commenting = {
  tell: undefined,
  remove: undefined,
  open: "",
  setOpen: () => undefined,
  said: new Map(),
};

export const CommentingContext = createContext<Commenting>(NONE);

export const useCommenting = () => useContext(CommentingContext);
