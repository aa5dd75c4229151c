/** What happens to a file: its path, how many lines come and go, and the diff, unified or side by side as people like it. */
import { DiffView } from "@/diff/DiffView";
import { countOf, type DiffHunk } from "@/diff/lines";
import { useUi } from "@/state/ui";
import { Shown } from "@/ui/Hidden";
import { useNarrow } from "@/ui/media";
import { Segments } from "@/ui/Segments";
import { insideOf } from "./fields";

interface Props {
  hunks: readonly DiffHunk[];
  path: string;
  /** Numbers are those of the file; not where only a piece of it is known. */
  numbers: boolean;
  /** A word about it: a new file, every occurrence. */
  note?: string;
  most?: number;
  /** Where the session works: paths are told as seen from there. */
  cwd?: string;
  /** How many lines come and go, where no line above says so. */
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
          <Shown text={insideOf(path, cwd)} />
        </span>
        {note && <span className="text-small text-ink-3">{note}</span>}
        {counted && <Counts {...countOf(hunks)} />}
        {!narrow && (
          <Segments
            label="How to show the diff"
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
        <p className="m-0 text-ink-3">Nothing changes.</p>
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
