/** File diff: path, counts and hunks, unified or side by side. */
import { DiffView } from "@/diff/DiffView";
import { countOf, type DiffHunk } from "@/diff/lines";
import { useUi } from "@/state/ui";
import { useNarrow } from "@/ui/media";
import { SegmentedControl } from "@/ui/SegmentedControl";
import { VisibleText } from "@/ui/VisibleText";
import { withinDirectory } from "./fields";

interface Props {
  hunks: readonly DiffHunk[];
  path: string;
  /** Line numbers are those of the file; false for a piece of it. */
  numbers: boolean;
  /** A note: a new file, every occurrence. */
  note?: string;
  most?: number;
  /** The session's directory: paths are shown relative to it. */
  cwd?: string;
  /** Show the counts, if no line above does. */
  counted?: boolean;
}

export function FileDiff({ hunks, path, numbers, note = "", most = 400, cwd = "", counted = false }: Props) {
  const split = useUi((state) => state.diffSplit);
  const set = useUi((state) => state.set);
  const narrow = useNarrow();
  return (
    <div className="min-w-0">
      <div className="flex min-h-8 min-w-0 flex-wrap items-center gap-x-3 gap-y-1 pb-1">
        <span className="min-w-0 flex-1 font-mono text-code wrap-anywhere text-ink-2">
          <VisibleText text={withinDirectory(path, cwd)} />
        </span>
        {note && <span className="text-small text-ink-3">{note}</span>}
        {counted && <Counts {...countOf(hunks)} />}
        {!narrow && (
          <SegmentedControl
            label="Diff layout"
            value={split ? "split" : "unified"}
            choices={[
              { value: "unified", label: "Unified" },
              { value: "split", label: "Split" },
            ]}
            onChange={(chosen) => set({ diffSplit: chosen === "split" })}
          />
        )}
      </div>
      {hunks.length === 0 ? (
        <p className="m-0 text-ink-3">No changes.</p>
      ) : (
        <div className="overflow-hidden rounded-box border border-line">
          <DiffView hunks={hunks} path={path} split={split && !narrow} maxLines={most} numbers={numbers} />
        </div>
      )}
    </div>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  if (added === 0 && removed === 0) return null;
  return (
    <span className="tabular shrink-0">
      {added > 0 && <span className="text-done">+{added.toLocaleString("en")}</span>}
      {added > 0 && removed > 0 && " "}
      {removed > 0 && <span className="text-failed">−{removed.toLocaleString("en")}</span>}
    </span>
  );
}
