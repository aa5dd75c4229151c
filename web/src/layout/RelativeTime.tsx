/** Relative times, updated every second by one shared timer; components render only if their text changes. */
import { useSyncExternalStore } from "react";
import { serverNow } from "@/format/serverClock";
import { ago } from "@/format/values";

const listeners = new Set<() => void>();
let timer = 0;

function listen(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === 0) timer = window.setInterval(() => listeners.forEach((each) => void each()), 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = 0;
  };
}

/** A primitive value that depends on the time. */
export function useTicking<T extends string | number | boolean>(now: () => T): T {
  return useSyncExternalStore(listen, now);
}

/** `now`, `40s`, `12m`; the first seconds count as `now`. */
export function relativeTime(seconds: number, now = serverNow() / 1000): string {
  if (!seconds) return "";
  return now - seconds < 10 ? "now" : ago(seconds, now);
}

export function RelativeTime({ at, className = "" }: { at: number; className?: string }) {
  const text = useTicking(() => relativeTime(at));
  return (
    <time className={`tabular ${className}`} dateTime={at ? new Date(at * 1000).toISOString() : undefined}>
      {text}
    </time>
  );
}
