/** Ties a `Reading` to what is drawn: which lines are, who measures them, and what a movement of the reader does. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "react";
import { flushSync } from "react-dom";
import { Heights, type Line } from "./heights";
import type { ReadLine } from "./held";
import { keptOf } from "./places";
import { Reading } from "./reading";

export interface Drawn {
  reading: Reading;
  scroller: RefObject<HTMLDivElement | null>;
  start: number;
  end: number;
  /** Room for what is not drawn. */
  above: number;
  below: number;
  /** To be the `ref` of each line: it has its id as `data-line`. */
  line: (element: HTMLElement | null) => (() => void) | undefined;
}

export function useReading(
  sessionId: string,
  lines: readonly ReadLine[],
  guess: (line: Line) => number,
  head: number,
): Drawn {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const scroller = useRef<HTMLDivElement>(null);
  const made = useRef<Reading | null>(null);
  made.current ??= begin(sessionId, guess, head, draw);
  const reading = made.current;
  reading.head = head;
  const { start, end } = reading.follow(lines);
  const observer = useRef<ResizeObserver | null>(null);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    reading.attach(element);
    const scrolled = () => flushSync(() => reading.scrolled());
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      element.removeEventListener("scroll", scrolled);
      keptOf(sessionId).place = reading.place();
      reading.detach();
    };
  }, [reading, sessionId]);

  const observe = useCallback(() => {
    observer.current ??= new ResizeObserver((changes) => {
      for (const change of changes) {
        const id = (change.target as HTMLElement).dataset.line;
        if (id) reading.measured(id, change.borderBoxSize[0]?.blockSize ?? 0);
      }
      reading.settle();
    });
    return observer.current;
  }, [reading]);

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

  const line = useCallback(
    (element: HTMLElement | null) => {
      const id = element?.dataset.line;
      if (!element || !id) return undefined;
      reading.mounted(id, element);
      observe().observe(element);
      return () => {
        observer.current?.unobserve(element);
        reading.unmounted(id, element);
      };
    },
    [reading, observe],
  );

  // After every drawing: new lines are measured and the place is put right before anything is seen.
  useLayoutEffect(() => {
    for (let index = start; index < end; index += 1) {
      const element = reading.elementOf(lines[index]?.id ?? "");
      if (element) reading.heights.measure(index, element.getBoundingClientRect().height);
    }
    reading.settle();
  });

  const { above } = reading;
  const below = reading.heights.total() - reading.heights.top(end);
  return { reading, scroller, start, end, above, below, line };
}

function begin(sessionId: string, guess: (line: Line) => number, head: number, draw: () => void): Reading {
  const { place, measured } = keptOf(sessionId);
  const reading = new Reading(new Heights(guess, measured), head, draw);
  if (place && !place.pinned) reading.start(place);
  return reading;
}
