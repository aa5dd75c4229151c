/** Windowing of a list with known row heights. */
import { type RefObject, useCallback, useEffect, useMemo, useState } from "react";

/** Rows rendered above and below the viewport. */
const OVERSCAN = 10;

/** Offset of each row, and the total height at the end. */
export function rowOffsets(heights: readonly number[]): number[] {
  const starts = [0];
  for (const height of heights) starts.push((starts.at(-1) as number) + height);
  return starts;
}

/** The row at an offset. */
export function rowAt(starts: readonly number[], top: number): number {
  let [low, high] = [0, Math.max(0, starts.length - 2)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] as number) <= top) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface RowWindow {
  from: number;
  to: number;
  starts: number[];
  total: number;
  /** Scrolls a row into view, by the shortest way. */
  reveal: (position: number) => void;
}

export function useRowWindow(scroller: RefObject<HTMLElement | null>, heights: readonly number[]): RowWindow {
  const starts = useMemo(() => rowOffsets(heights), [heights]);
  const [[first, last], setSeen] = useState<readonly [number, number]>([0, 0]);
  useEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const look = () => {
      const now = [rowAt(starts, box.scrollTop), rowAt(starts, box.scrollTop + box.clientHeight)] as const;
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
  }, [scroller, starts]);
  const reveal = useCallback(
    (position: number) => {
      const box = scroller.current;
      const [top, bottom] = [starts[position], starts[position + 1]];
      if (!box || top === undefined || bottom === undefined) return;
      if (top < box.scrollTop) box.scrollTop = top;
      else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    },
    [scroller, starts],
  );
  return {
    from: Math.max(0, first - OVERSCAN),
    to: Math.min(heights.length, last + 1 + OVERSCAN),
    starts,
    total: starts.at(-1) as number,
    reveal,
  };
}
