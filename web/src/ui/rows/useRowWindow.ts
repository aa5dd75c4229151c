/** Renders only the rows in view, where their heights are known; `transcript/scroll` is for those that are measured. */
import { type RefObject, useCallback, useLayoutEffect, useState } from "react";
import type { RowOffsets } from "./heights";

/** Rows rendered above and below the viewport. */
const OVERSCAN = 12;

export interface RowWindow {
  from: number;
  to: number;
  /** Scrolls a row into view, by the shortest way. */
  reveal: (index: number) => void;
}

/** `rows` must be the same object as long as the rows are the same. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, rows: RowOffsets): RowWindow {
  const [[first, last], setSeen] = useState<readonly [number, number]>([0, 0]);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const look = () => {
      const now = [rows.indexAt(box.scrollTop), rows.indexAt(box.scrollTop + box.clientHeight)] as const;
      setSeen((before) => (before[0] === now[0] && before[1] === now[1] ? before : now));
    };
    look();
    box.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(box);
    return () => {
      box.removeEventListener("scroll", look);
      sizes.disconnect();
    };
  }, [scroller, rows]);
  const reveal = useCallback(
    (index: number) => {
      const box = scroller.current;
      if (!box || index < 0 || index >= rows.count) return;
      const [top, bottom] = [rows.top(index), rows.top(index + 1)];
      if (top < box.scrollTop) box.scrollTop = top;
      else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    },
    [scroller, rows],
  );
  return { from: Math.max(0, first - OVERSCAN), to: Math.min(rows.count, last + 1 + OVERSCAN), reveal };
}
