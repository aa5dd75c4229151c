/** What is around every row, in the list and within a group: whether keys or a link point at it, and what one can do with it. */
import { type PointerEvent, type ReactNode, type Ref, useEffect, useMemo, useRef, useState } from "react";
import type { Row } from "@/state/rows";
import { Boundary } from "@/ui/Boundary";
import { makeCurrent, useCurrent } from "./current";
import { RowActions } from "./RowActions";

interface Props {
  sessionId: string;
  row: Row;
  /** A run of calls: its rows have actions of their own. */
  group?: boolean;
  /** Set for the lines of the list, and its number among them. */
  line?: { ref: Ref<HTMLElement>; place: number };
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
      <Boundary what="This row" resetKey={row}>
        {children}
      </Boundary>
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
      makeCurrent(row.id); // a finger cannot hover: it chooses
      event.stopPropagation(); // the innermost row is meant
    },
    className: look,
  };
  if (!line) return <div {...all}>{inside}</div>;
  return (
    <article {...all} ref={line.ref} data-line={row.id} aria-posinset={line.place + 1} aria-setsize={-1}>
      {inside}
    </article>
  );
}

/** Milliseconds a pointer has to stay: rows that pass under it are not meant. */
const STAYS = 60;

/** Whether a pointer rests on it. What is drawn for that is drawn then only, so that a row that is passed by is cheap. */
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
