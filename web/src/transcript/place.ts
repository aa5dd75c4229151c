/** What the rows of one transcript share: whose it is, and who keeps the reader's place while something opens. */
import { createContext, useCallback, useContext } from "react";
import { flushSync } from "react-dom";
import { useFolds } from "@/state/ui";
import type { Reading } from "./scroll/reading";

export const ReadingContext = createContext<Reading | null>(null);

/** Whether something is open, and a way to change that which leaves it under the pointer. */
export function useFold(
  id: string,
  byDefault: boolean,
): [boolean, (element: HTMLElement, open?: boolean) => void] {
  const reading = useContext(ReadingContext);
  const open = useFolds((state) => state.open[id]) ?? byDefault;
  const change = useCallback(
    (element: HTMLElement, wanted?: boolean) => {
      reading?.touch(element);
      flushSync(() => useFolds.getState().toggle(id, wanted ?? !open));
      reading?.settle();
      reading?.touched();
    },
    [id, open, reading],
  );
  return [open, change];
}
