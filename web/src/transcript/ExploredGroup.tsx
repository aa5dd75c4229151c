/** A group of read-only calls on one line: "Explored 7 files". Failed calls stay visible. */
import { useRef, useSyncExternalStore } from "react";
import { duration, plural } from "@/format/values";
import type { ToolRow } from "@/state/rows";
import { isOver } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Icon } from "@/ui/Icon";
import { RowFrame } from "./RowFrame";
import { ToolLine } from "./ToolLine";
import { useFold } from "./useFold";

export function ExploredGroup({
  transcript,
  id,
  ids,
}: {
  transcript: Transcript;
  id: string;
  ids: string[];
}) {
  const rows = useTools(transcript, ids);
  const [open, change] = useFold(`run-${id}`, false);
  const wrong = rows.filter((row) => row.status === "error" || row.status === "denied");
  const running = rows.some((row) => !isOver(row.status));
  const took = rows.reduce((sum, row) => sum + row.durationMs, 0);
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={(event) => change(event.currentTarget)}
        className={`target flex h-8 w-full min-w-0 items-center gap-2 border-l-2 pr-1 pl-2 text-left hover:bg-surface-1 ${running ? "border-needs" : "border-done/50"}`}
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
        <Icon name="search" size={14} className="text-ink-3" />
        <span className="min-w-0 flex-1 truncate">{groupLabel(rows, running)}</span>
        <span className="tabular shrink-0 text-small text-ink-3">{took >= 100 ? duration(took) : ""}</span>
        <span
          className={`w-4 shrink-0 text-center ${running ? "pulse-needs text-running" : "text-done"}`}
          aria-hidden="true"
        >
          {running ? "●" : "✓"}
        </span>
      </button>
      <div className={open ? "ml-[13px] border-l border-line pl-3" : ""}>
        {(open ? rows : wrong).map((row) => (
          <RowFrame key={row.id} sessionId={transcript.id} row={row}>
            <ToolLine transcript={transcript} row={row} sessionId={transcript.id} />
          </RowFrame>
        ))}
      </div>
    </div>
  );
}

export function groupLabel(rows: readonly ToolRow[], running: boolean): string {
  const files = new Set<unknown>();
  let searches = 0;
  for (const row of rows) {
    if (row.name === "Read" || row.name === "LS") files.add(row.input.file_path ?? row.input.path ?? row.id);
    else searches += 1;
  }
  const what = [
    ...(files.size > 0 ? [plural(files.size, "file")] : []),
    ...(searches > 0 ? [plural(searches, "search", "searches")] : []),
  ];
  return `${running ? "Exploring" : "Explored"} ${what.join(", ")}`;
}

/** The rows of a group; the same array until one of them changes. */
function useTools(transcript: Transcript, ids: string[]): ToolRow[] {
  const last = useRef<ToolRow[]>([]);
  return useSyncExternalStore(
    (listener) => {
      const ends = ids.map((id) => transcript.subscribeRow(id, listener));
      return () => {
        for (const end of ends) end();
      };
    },
    () => {
      const rows = ids.flatMap((id) => transcript.fold.tool(id) ?? []);
      const before = last.current;
      if (rows.length !== before.length || rows.some((row, index) => row !== before[index]))
        last.current = rows;
      return last.current;
    },
  );
}
