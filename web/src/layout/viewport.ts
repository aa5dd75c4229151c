/** Page height while an on-screen keyboard is open, for browsers that do not report it to CSS. */
import { create } from "zustand";

/** Minimum height of a keyboard. */
const KEYBOARD = 150;

export const useViewport = create(() => ({ keyboard: false }));

export function keepViewport(): () => void {
  const view = window.visualViewport;
  if (!view) return () => undefined;
  const apply = () => {
    if (view.scale > 1.01) return; // zoomed in: keep the page as it is
    const covered = window.innerHeight - view.height;
    document.documentElement.style.setProperty("--page-height", covered > 1 ? `${view.height}px` : "100dvh");
    const keyboard = covered > KEYBOARD || window.screen.height - view.height > 0.45 * window.screen.height;
    const typing = document.activeElement?.matches("input, textarea, [contenteditable]") === true;
    useViewport.setState({ keyboard: keyboard && typing });
  };
  view.addEventListener("resize", apply);
  apply();
  return () => view.removeEventListener("resize", apply);
}
