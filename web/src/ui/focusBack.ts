/** Where the focus was before a dialog came: there it goes back to, unless somebody took it meanwhile. */
import { type RefObject, useRef } from "react";

interface FocusBack {
  onOpenAutoFocus: () => void;
  onCloseAutoFocus: (event: Event) => void;
}

/** `known` is given where a field in the dialog takes the focus by itself, before the dialog could look where it was. */
export function useFocusBack(known?: RefObject<Element | null>): FocusBack {
  const found = useRef<Element | null>(null);
  const before = known ?? found;
  return {
    onOpenAutoFocus: () => {
      found.current = document.activeElement;
    },
    onCloseAutoFocus: (event) => {
      event.preventDefault();
      const lost = document.activeElement === null || document.activeElement === document.body;
      if (lost && before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    },
  };
}
