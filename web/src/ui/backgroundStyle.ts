/** State of what runs in the background as a shape, a word and a colour. */
import type { BackgroundView } from "@/api/types";

export interface BackgroundStyle {
  shape: string;
  word: string;
  ink: string;
}

const STYLES: Record<BackgroundView["state"], BackgroundStyle> = {
  running: { shape: "●", word: "running", ink: "text-running" },
  paused: { shape: "◌", word: "paused, continues with the next message", ink: "text-ink-2" },
  completed: { shape: "✓", word: "done", ink: "text-done" },
  failed: { shape: "✗", word: "failed", ink: "text-failed" },
  killed: { shape: "◌", word: "stopped", ink: "text-ink-2" },
  lost: { shape: "✗", word: "lost: the program that ran it ended", ink: "text-failed" },
};

export function backgroundStyle({ state, code }: BackgroundView): BackgroundStyle {
  const style = STYLES[state];
  return state === "failed" && code ? { ...style, word: `failed with exit code ${code}` } : style;
}
