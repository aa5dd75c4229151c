/** One line of the list: a row or a group. */
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
  position: number;
  line: (element: HTMLElement | null) => (() => void) | undefined;
}

export const LineView = memo(function LineView({ transcript, item, position, line }: Props) {
  const row = useRow(transcript, item.id);
  const at = useMemo(() => ({ ref: line, position }), [line, position]);
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
