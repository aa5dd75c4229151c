/** Terminal theme in the page's colours, converted to hex by a canvas because xterm does not parse oklch. */
import type { ITheme } from "@xterm/xterm";

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

export function terminalTheme(): ITheme {
  const theme: Record<string, string> = {};
  for (const name of NAMES) {
    theme[name] = colour(`--ansi-${name}`);
    theme[`bright${name[0]?.toUpperCase()}${name.slice(1)}`] = colour(`--ansi-bright-${name}`);
  }
  return {
    ...theme,
    background: colour("--surface-0"),
    foreground: colour("--ink-1"),
    cursor: colour("--accent"),
    cursorAccent: colour("--surface-0"),
    selectionBackground: colour("--accent-soft", true),
  };
}

/** A token's colour as `#rrggbb`, or with alpha. */
function colour(token: string, alpha = false): string {
  const value = getComputedStyle(document.documentElement).getPropertyValue(token).trim();
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (!context || !value) return alpha ? "#88888866" : "#888888";
  context.fillStyle = value;
  context.fillRect(0, 0, 1, 1);
  const pixel = [...context.getImageData(0, 0, 1, 1).data].slice(0, alpha ? 4 : 3);
  return `#${pixel.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
