/** Time that passes or runs out, told once a second in digits that do not jump. */
import { useEffect, useState } from "react";
import { serverNow } from "@/words/now";

export function useSecond(active: boolean): number {
  const [now, setNow] = useState(() => serverNow());
  useEffect(() => {
    if (!active) return;
    setNow(serverNow());
    const timer = window.setInterval(() => setNow(serverNow()), 1000);
    return () => window.clearInterval(timer);
  }, [active]);
  return now;
}

/** 9s, 1:09, 1:01:09. */
export function digits(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

export function Since({ at }: { at: number }) {
  const now = useSecond(true);
  return <span className="tabular">{digits(now - at)}</span>;
}

export function Left({ until }: { until: number }) {
  const now = useSecond(true);
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return <span className="tabular">{text}</span>;
}
