/** Where the focus was before a dialog came: there it goes back to, unless somebody took it meanwhile. */
import { useRef } from "react";

interface FocusBack {
  onOpenAutoFocus: () => void;
  onCloseAutoFocus: (event: Event) => void;
}

export function useFocusBack(): FocusBack {
  const before = useRef<Element | null>(null);
  return {
    onOpenAutoFocus: () => {
      before.current = document.activeElement;
    },
    onCloseAutoFocus: (event) => {
      event.preventDefault();
      const lost = document.activeElement === null || document.activeElement === document.body;
      if (lost && before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    },
  };
}
