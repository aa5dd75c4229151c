/** One line of the list: a row, or a run of them. */
import { memo, useMemo } from "react";
import { useRow } from "@/state/hooks";
import type { Item } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { ExploredGroup } from "./ExploredGroup";
import { RowFrame } from "./RowFrame";
import { RowView } from "./rows/RowView";

interface Props {
  transcript: Transcript;
  item: Item;
  place: number;
  line: (element: HTMLElement | null) => (() => void) | undefined;
}

export const LineView = memo(function LineView({ transcript, item, place, line }: Props) {
  const row = useRow(transcript, item.id);
  const at = useMemo(() => ({ ref: line, place }), [line, place]);
  if (!row) return null;
  return (
    <RowFrame sessionId={transcript.id} row={row} group={item.group} line={at}>
      {item.group ? (
        <ExploredGroup transcript={transcript} id={item.id} ids={item.rows} />
      ) : (
        <RowView transcript={transcript} row={row} />
      )}
    </RowFrame>
  );
});
