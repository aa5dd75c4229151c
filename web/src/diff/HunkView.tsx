/** One hunk of a diff: header, actions and lines. */
import { memo, type ReactNode, useMemo } from "react";
import { count, plural } from "@/format/values";
import { VisibleText } from "@/ui/VisibleText";
import { chunksOf, keyed } from "./keyed";
import type { DiffHunk, DiffLine } from "./lines";
import { SplitLine, UnifiedLine } from "./Row";
import { type SplitRow, splitRows } from "./split";
import { type Colours, useColours } from "./tokens";

/** Lines per chunk; off-screen chunks are not rendered by the browser. */
const CHUNK = 200;
const HEIGHT = 19;

interface Props {
  hunk: DiffHunk;
  path: string;
  split: boolean;
  /** Unchanged lines before it. */
  skipped: number;
  actions: ReactNode;
  returns: boolean;
  /** Number of lines shown. */
  most: number;
  onMore: () => void;
}

export const HunkView = memo(function HunkView(props: Props) {
  const { hunk, path, split, skipped, actions, returns, most, onMore } = props;
  const lines = useMemo(
    () => (most < hunk.lines.length ? hunk.lines.slice(0, most) : hunk.lines),
    [hunk, most],
  );
  const colours = useColours(hunk, path);
  const left = hunk.lines.length - lines.length;
  return (
    <div>
      {(skipped > 0 || actions || hunk.header) && (
        <HunkHead hunk={hunk} skipped={skipped} actions={actions} />
      )}
      {lines.length > 0 && <Lines lines={lines} split={split} returns={returns} colours={colours} />}
      {left > 0 && (
        <button
          type="button"
          onClick={onMore}
          className="target w-full bg-surface-1 px-3 py-1 text-left font-sans text-chrome text-accent select-none hover:bg-surface-2"
        >
          Show {lines.length > 0 ? `more (${plural(left, "line")} left)` : plural(left, "line")}
          {lines.length === 0 && hunk.newStart > 0 && ` from line ${count(hunk.newStart)}`}
        </button>
      )}
    </div>
  );
});

function HunkHead({ hunk, skipped, actions }: { hunk: DiffHunk; skipped: number; actions: ReactNode }) {
  return (
    <div className="flex min-h-7 items-center gap-2 bg-surface-1 px-3 font-sans text-small text-ink-3 select-none">
      {skipped > 0 && <span className="tabular shrink-0">⋯ {plural(skipped, "unchanged line")}</span>}
      <span className="min-w-0 flex-1 truncate font-mono">
        {hunk.header && <VisibleText text={hunk.header} />}
      </span>
      {actions}
    </div>
  );
}

interface LinesProps {
  lines: DiffLine[];
  split: boolean;
  returns: boolean;
  colours: Colours | null;
}

function Lines({ lines, split, returns, colours }: LinesProps) {
  const rows = useMemo(
    () => chunksOf<DiffLine | SplitRow>(split ? splitRows(lines) : lines, CHUNK),
    [lines, split],
  );
  return keyed(rows).map(({ key, item: chunk }) => (
    <div key={key} style={rows.length > 1 ? unseen(chunk.length) : undefined}>
      {keyed(chunk).map(({ key: position, item: row }) =>
        "kind" in row ? (
          <UnifiedLine key={position} line={row} returns={returns} tokens={colourOf(row, colours)} />
        ) : (
          <SplitLine
            key={position}
            {...row}
            returns={returns}
            leftTokens={row.left ? colours?.old.get(row.left) : undefined}
            rightTokens={row.right ? colours?.now.get(row.right) : undefined}
          />
        ),
      )}
    </div>
  ));
}

function colourOf(line: DiffLine, colours: Colours | null) {
  return (line.kind === "removed" ? colours?.old : colours?.now)?.get(line);
}

function unseen(lines: number) {
  return { contentVisibility: "auto", containIntrinsicSize: `auto ${lines * HEIGHT}px` } as const;
}
