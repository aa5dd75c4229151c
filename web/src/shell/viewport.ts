/** How high the page is when a keyboard covers a part of the screen: some browsers do not say so to CSS. */
import { create } from "zustand";

/** A keyboard is at least so high. */
const KEYBOARD = 150;

export const useViewport = create(() => ({ keyboard: false }));

export function keepViewport(): () => void {
  const view = window.visualViewport;
  if (!view) return () => undefined;
  const apply = () => {
    if (view.scale > 1.01) return; // somebody looks closer: the page stays as it is
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
