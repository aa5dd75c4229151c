/** Diff view: hunks, unified or side by side, with comments on lines. */
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { type CommentedLine, type Commenting, CommentingContext, keyOf, type LineComment } from "./comments";
import { HunkView } from "./HunkView";
import { keyed } from "./keyed";
import { FullLinesContext } from "./LineText";
import type { DiffHunk } from "./lines";

export type { CommentedLine, LineComment } from "./comments";

export interface DiffViewProps {
  hunks: readonly DiffHunk[];
  path: string;
  split: boolean;
  comments?: readonly LineComment[];
  /** `text` is the line, `words` the comment. */
  onComment?: (line: CommentedLine) => void;
  onRemoveComment?: (comment: LineComment) => void;
  renderHunkActions?: (hunk: DiffHunk, index: number) => ReactNode;
  /** Lines shown at first. With Infinity nothing is collapsed, not even long lines. */
  maxLines?: number;
  /** Whether lines have numbers; false for a piece of a file. */
  numbers?: boolean;
}

const MOST_LINES = 2_000;
const MORE = 1_000;

export function DiffView({
  hunks,
  path,
  split,
  renderHunkActions,
  maxLines = MOST_LINES,
  numbers = true,
  ...commented
}: DiffViewProps) {
  const commenting = useComments(commented);
  const [more, setMore] = useState<Record<number, number>>({});
  const [picked, setPicked] = useState<"left" | "right" | "">("");
  const room = useMemo(() => visibleLines(hunks, maxLines), [hunks, maxLines]);
  const returns = useMemo(() => hasMixedEnds(hunks), [hunks]);
  const figure = useRef<HTMLElement>(null);
  useEffect(() => ensureTabStop(figure.current));
  const selecting = split && picked ? OTHER_SIDE[picked] : "";
  return (
    <CommentingContext value={commenting}>
      <FullLinesContext value={maxLines === Number.POSITIVE_INFINITY}>
        <figure
          ref={figure}
          aria-label={`Changes in ${path}`}
          className={`m-0 font-mono text-code text-ink-1 ${selecting} ${numbers ? "" : UNNUMBERED}`}
          style={{ "--digits": digitsOf(hunks) } as CSSProperties}
          onKeyDown={moveBetweenLines}
          onFocus={moveTabStop}
          onPointerDown={(event) => setPicked(sideOf(event.target))}
        >
          {keyed(hunks).map(({ key, item: hunk }, index) => (
            <HunkView
              key={key}
              hunk={hunk}
              path={path}
              split={split}
              skipped={numbers ? skippedBefore(hunks, index) : 0}
              actions={renderHunkActions?.(hunk, index)}
              returns={returns}
              most={(room[index] ?? 0) + (more[index] ?? 0)}
              onMore={() => setMore((before) => ({ ...before, [index]: (before[index] ?? 0) + MORE }))}
            />
          ))}
        </figure>
      </FullLinesContext>
    </CommentingContext>
  );
}

const UNNUMBERED = "[&_[data-number]]:hidden";

/** Side by side, a selection stays on the side where it begins, so that copying gives one text. */
const OTHER_SIDE = {
  left: "[&_[data-side=right]]:select-none",
  right: "[&_[data-side=left]]:select-none",
} as const;

function sideOf(target: EventTarget): "left" | "right" | "" {
  const half = target instanceof Element ? target.closest<HTMLElement>("[data-side]") : null;
  return (half?.dataset.side ?? "") as "left" | "right" | "";
}

function useComments({
  comments,
  onComment,
  onRemoveComment,
}: Pick<DiffViewProps, "comments" | "onComment" | "onRemoveComment">): Commenting {
  const [open, setOpen] = useState("");
  return useMemo(() => {
    const byLine = new Map<string, LineComment[]>();
    for (const comment of comments ?? []) {
      const key = keyOf(comment);
      byLine.set(key, [...(byLine.get(key) ?? []), comment]);
    }
    return { add: onComment, remove: onRemoveComment, open, setOpen, comments: byLine };
  }, [comments, onComment, onRemoveComment, open]);
}

/** How many lines of each hunk are shown: the first hunks get them. */
function visibleLines(hunks: readonly DiffHunk[], most: number): number[] {
  let left = most;
  return hunks.map((hunk) => {
    const room = Math.min(left, hunk.lines.length);
    left -= room;
    return room;
  });
}

function skippedBefore(hunks: readonly DiffHunk[], index: number): number {
  const hunk = hunks[index];
  if (!hunk) return 0;
  const last =
    hunks[index - 1]?.lines.findLast((line) => line.now !== null)?.now ?? hunks[index - 1]?.newStart ?? 0;
  return Math.max(0, hunk.newStart - last - 1);
}

function digitsOf(hunks: readonly DiffHunk[]): number {
  const last = hunks.at(-1);
  const largest = last ? Math.max(last.oldStart, last.newStart) + last.lines.length : 0;
  return Math.max(2, String(largest).length);
}

/** Carriage returns are shown only if line endings are mixed. */
function hasMixedEnds(hunks: readonly DiffHunk[]): boolean {
  let some = false;
  let none = false;
  for (const hunk of hunks) {
    for (const line of hunk.lines) {
      if (line.text.endsWith("\r")) some = true;
      else if (!line.bare) none = true;
    }
  }
  return some && none;
}

/** Arrows move between lines; the diff is one tab stop, at the last focused line. */
function moveBetweenLines(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const here = (event.target as Element).closest<HTMLElement>("[data-diff-line]");
  if (!step || !here) return;
  event.preventDefault();
  const lines = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-diff-line]")];
  lines[lines.indexOf(here) + step]?.focus();
}

function ensureTabStop(figure: HTMLElement | null): void {
  if (figure?.querySelector('[data-diff-line][tabindex="0"]')) return;
  const first = figure?.querySelector<HTMLElement>("[data-diff-line]");
  if (first) first.tabIndex = 0;
}

function moveTabStop(event: { target: EventTarget; currentTarget: HTMLElement }): void {
  const here = (event.target as Element).closest<HTMLElement>("[data-diff-line]");
  if (!here) return;
  for (const line of event.currentTarget.querySelectorAll<HTMLElement>('[data-diff-line][tabindex="0"]'))
    line.tabIndex = -1;
  here.tabIndex = 0;
}
