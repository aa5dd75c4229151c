/** A diff: hunks with numbers and signs, unified or side by side, and room for comments on lines. */
import type { ReactNode } from "react";
import { HunkView } from "./HunkView";
import type { DiffHunk } from "./lines";

export interface LineComment {
  side: "old" | "new";
  line: number;
  /** What was said of it. */
  words: string;
}

export interface CommentedLine {
  side: "old" | "new";
  line: number;
  /** The line itself. */
  text: string;
  /** What is said of it. */
  words: string;
}

export interface DiffViewProps {
  hunks: readonly DiffHunk[];
  path: string;
  split: boolean;
  comments?: readonly LineComment[];
  onComment?: (line: CommentedLine) => void;
  renderHunkActions?: (hunk: DiffHunk, index: number) => ReactNode;
  /** Lines shown before one has to ask for more. */
  maxLines?: number;
}

export function DiffView({ hunks, path, split, renderHunkActions }: DiffViewProps) {
  return (
    <figure aria-label={`Changes in ${path}`} className="m-0 text-code font-mono">
      {hunks.map((hunk, index) => (
        <HunkView
          key={`${hunk.oldStart}/${hunk.newStart}`}
          hunk={hunk}
          split={split}
          actions={renderHunkActions?.(hunk, index)}
        />
      ))}
    </figure>
  );
}
