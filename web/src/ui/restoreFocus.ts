/** Restores the focus after a dialog, unless something else has taken it. */
import { type RefObject, useRef } from "react";

interface FocusHandlers {
  onOpenAutoFocus: () => void;
  onCloseAutoFocus: (event: Event) => void;
}

/** `known` is for dialogs whose field takes the focus before the dialog can record where it was. */
export function useRestoreFocus(known?: RefObject<Element | null>): FocusHandlers {
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
