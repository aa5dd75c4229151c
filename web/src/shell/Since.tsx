/** Time that passes, told once a second to those who show it; each is drawn again only when its own words change. */
import { useSyncExternalStore } from "react";
import { ago } from "@/words/format";
import { serverNow } from "@/words/now";

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

/** Something that depends on the time and is compared as it is. */
export function useTicking<T extends string | number | boolean>(now: () => T): T {
  return useSyncExternalStore(listen, now);
}

/** `now`, `40s`, `12m`: calm at first, for the first seconds say nothing. */
export function since(seconds: number, now = serverNow() / 1000): string {
  if (!seconds) return "";
  return now - seconds < 10 ? "now" : ago(seconds, now);
}

export function Since({ at, className = "" }: { at: number; className?: string }) {
  const words = useTicking(() => since(at));
  return (
    <time className={`tabular ${className}`} dateTime={at ? new Date(at * 1000).toISOString() : undefined}>
      {words}
    </time>
  );
}
