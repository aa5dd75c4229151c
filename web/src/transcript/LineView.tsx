/** One line of the list: a row, or a run of them. Where it breaks, only it is missing. */
import { memo } from "react";
import { useRow } from "@/state/hooks";
import type { Item } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Boundary } from "@/ui/Boundary";
import { ExploredGroup } from "./ExploredGroup";
import { RowActions } from "./RowActions";
import { RowView } from "./rows/RowView";

interface Props {
  transcript: Transcript;
  item: Item;
  place: number;
  current: boolean;
  marked: boolean;
  line: (element: HTMLElement | null) => (() => void) | undefined;
}

export const LineView = memo(function LineView({ transcript, item, place, current, marked, line }: Props) {
  const row = useRow(transcript, item.id);
  if (!row) return <article ref={line} data-line={item.id} />;
  return (
    <article
      ref={line}
      data-line={item.id}
      data-row={item.id}
      data-kind={item.group ? "run" : row.kind}
      aria-posinset={place + 1}
      aria-setsize={-1}
      aria-current={current ? "true" : undefined}
      tabIndex={-1}
      className={`group/row relative -mx-3 px-3 outline-none ${marked ? "rounded-box bg-accent-soft" : ""} ${row.superseded ? "opacity-50" : ""} aria-[current]:before:absolute aria-[current]:before:inset-y-0 aria-[current]:before:left-0 aria-[current]:before:w-0.5 aria-[current]:before:rounded aria-[current]:before:bg-accent`}
    >
      <Boundary what="This row" resetKey={row}>
        {item.group ? (
          <ExploredGroup transcript={transcript} id={item.id} ids={item.rows} />
        ) : (
          <RowView transcript={transcript} row={row} />
        )}
      </Boundary>
      <RowActions sessionId={transcript.id} row={row} group={item.group} />
    </article>
  );
});
