/** Theme: dark, light or system, applied before the first render. */
import { useUi } from "@/state/ui";

const COLOURS = { dark: "#16191d", light: "#fcfcfd" };

export function themeNow(): "dark" | "light" {
  const { theme } = useUi.getState();
  if (theme !== "system") return theme;
  return window.matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

function apply(): void {
  const now = themeNow();
  document.documentElement.dataset.theme = now;
  document.querySelector("meta[name=theme-color]")?.setAttribute("content", COLOURS[now]);
}

export function keepTheme(): void {
  apply();
  useUi.subscribe(apply);
  window.matchMedia("(prefers-color-scheme: light)").addEventListener("change", apply);
}
