/** Connects a `Virtualizer` to React: rendered lines, measurements and scroll events. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "react";
import { flushSync } from "react-dom";
import { Heights, type Line } from "@/ui/rows/heights";
import type { ListLine } from "./anchor";
import { savedPosition } from "./savedPositions";
import { Virtualizer } from "./virtualizer";

export interface VirtualList {
  virtualizer: Virtualizer;
  scroller: RefObject<HTMLDivElement | null>;
  start: number;
  end: number;
  /** Padding for the lines that are not rendered. */
  paddingTop: number;
  paddingBottom: number;
  /** The `ref` of each line, which has its id in `data-line`. */
  lineRef: (element: HTMLElement | null) => (() => void) | undefined;
}

export function useVirtualizer(
  sessionId: string,
  lines: readonly ListLine[],
  guess: (line: Line) => number,
  head: number,
): VirtualList {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const scroller = useRef<HTMLDivElement>(null);
  const made = useRef<Virtualizer | null>(null);
  made.current ??= createVirtualizer(sessionId, guess, head, draw);
  const virtualizer = made.current;
  virtualizer.head = head;
  const { start, end } = virtualizer.setLines(lines);
  const observer = useRef<ResizeObserver | null>(null);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    virtualizer.attach(element);
    const scrolled = () => flushSync(() => virtualizer.onScroll());
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      element.removeEventListener("scroll", scrolled);
      savedPosition(sessionId).position = virtualizer.position();
      virtualizer.detach();
    };
  }, [virtualizer, sessionId]);

  const observe = useCallback(() => {
    observer.current ??= new ResizeObserver((changes) => {
      for (const change of changes) {
        const id = (change.target as HTMLElement).dataset.line;
        if (id) virtualizer.measured(id, change.borderBoxSize[0]?.blockSize ?? 0);
      }
      virtualizer.settle();
    });
    return observer.current;
  }, [virtualizer]);

  useEffect(() => {
    const element = scroller.current;
    if (element) {
      observe().observe(element);
      if (element.firstElementChild) observe().observe(element.firstElementChild);
    }
    return () => {
      observer.current?.disconnect();
      observer.current = null;
    };
  }, [observe]);

  const lineRef = useCallback(
    (element: HTMLElement | null) => {
      const id = element?.dataset.line;
      if (!element || !id) return undefined;
      virtualizer.mounted(id, element);
      observe().observe(element);
      return () => {
        observer.current?.unobserve(element);
        virtualizer.unmounted(id, element);
      };
    },
    [virtualizer, observe],
  );

  // After every render: measure new lines and restore the anchor before painting.
  useLayoutEffect(() => {
    for (let index = start; index < end; index += 1) {
      const element = virtualizer.elementOf(lines[index]?.id ?? "");
      if (element) virtualizer.heights.measure(index, element.getBoundingClientRect().height);
    }
    virtualizer.settle();
  });

  const { paddingTop } = virtualizer;
  const paddingBottom = virtualizer.heights.total() - virtualizer.heights.top(end);
  return { virtualizer, scroller, start, end, paddingTop, paddingBottom, lineRef };
}

function createVirtualizer(
  sessionId: string,
  guess: (line: Line) => number,
  head: number,
  draw: () => void,
): Virtualizer {
  const { position, measured } = savedPosition(sessionId);
  const virtualizer = new Virtualizer(new Heights(guess, measured), head, draw);
  if (position && !position.pinned) virtualizer.restore(position);
  return virtualizer;
}
