/** Expanded state of a row, changed without moving it under the pointer. */
import { createContext, useCallback, useContext } from "react";
import { flushSync } from "react-dom";
import { useFolds } from "@/state/ui";
import type { Virtualizer } from "./scroll/virtualizer";

export const VirtualizerContext = createContext<Virtualizer | null>(null);

/** Whether a row is expanded, and a setter that keeps the toggled element in place. */
export function useFold(
  id: string,
  byDefault: boolean,
): [boolean, (element: HTMLElement, open?: boolean) => void] {
  const virtualizer = useContext(VirtualizerContext);
  const open = useFolds((state) => state.open[id]) ?? byDefault;
  const change = useCallback(
    (element: HTMLElement, wanted?: boolean) => {
      virtualizer?.beforeToggle(element);
      flushSync(() => useFolds.getState().toggle(id, wanted ?? !open));
      virtualizer?.settle();
      virtualizer?.afterToggle();
    },
    [id, open, virtualizer],
  );
  return [open, change];
}
