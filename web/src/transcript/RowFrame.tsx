/** Frame of every row: marks the current or linked row and shows its actions. */
import { type PointerEvent, type ReactNode, type Ref, useEffect, useMemo, useRef, useState } from "react";
import type { Row } from "@/state/rows";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { makeCurrent, useCurrent } from "./currentRow";
import { RowActions } from "./RowActions";

interface Props {
  sessionId: string;
  row: Row;
  /** A group of calls: its rows have their own actions. */
  group?: boolean;
  /** For lines of the list: their ref and index. */
  line?: { ref: Ref<HTMLElement>; position: number };
  children: ReactNode;
}

const BAR =
  "aria-[current]:before:absolute aria-[current]:before:inset-y-0 aria-[current]:before:left-0 aria-[current]:before:w-0.5 aria-[current]:before:rounded aria-[current]:before:bg-accent";

export function RowFrame({ sessionId, row, group = false, line, children }: Props) {
  const current = useCurrent((state) => state.row === row.id);
  const marked = useCurrent((state) => state.marked === row.id);
  const [near, nearby] = useNear();
  const look = `group/row relative flow-root [contain:layout_style] -mx-3 px-3 outline-none ${BAR} ${marked ? "rounded-box bg-accent-soft/40" : ""} ${row.superseded ? "**:text-ink-3 **:border-line" : ""}`;
  const inside = (
    <>
      <ErrorBoundary label="This row" resetKey={row}>
        {children}
      </ErrorBoundary>
      {(near || current) && <RowActions sessionId={sessionId} row={row} group={group} />}
    </>
  );
  const all = {
    "data-row": row.id,
    "data-superseded": row.superseded ? "" : undefined,
    "data-kind": group ? "run" : row.kind,
    "aria-current": current ? ("true" as const) : undefined,
    tabIndex: -1,
    ...nearby,
    onPointerDown: (event: PointerEvent) => {
      makeCurrent(row.id); // touch cannot hover: it selects
      event.stopPropagation(); // the innermost row counts
    },
    className: look,
  };
  if (!line) return <div {...all}>{inside}</div>;
  return (
    <article {...all} ref={line.ref} data-line={row.id} aria-posinset={line.position + 1} aria-setsize={-1}>
      {inside}
    </article>
  );
}

/** Milliseconds of hovering before the actions appear. */
const STAYS = 60;

/** Whether the pointer rests on the row. The actions render only then, which keeps scrolling cheap. */
function useNear(): [boolean, { onPointerEnter: () => void; onPointerLeave: () => void }] {
  const [near, setNear] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const nearby = useMemo(
    () => ({
      onPointerEnter: () => {
        timer.current = window.setTimeout(() => setNear(true), STAYS);
      },
      onPointerLeave: () => {
        window.clearTimeout(timer.current);
        setNear(false);
      },
    }),
    [],
  );
  return [near, nearby];
}
