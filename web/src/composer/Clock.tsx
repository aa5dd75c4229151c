/** Elapsed and remaining time, updated every second. */
import { useEffect, useState } from "react";
import { serverNow } from "@/format/serverClock";

export function useServerTime(active: boolean): number {
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
export function formatElapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

export function ElapsedTime({ at }: { at: number }) {
  const now = useServerTime(true);
  return <span className="tabular">{formatElapsed(now - at)}</span>;
}

export function Countdown({ until }: { until: number }) {
  const now = useServerTime(true);
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return <span className="tabular">{text}</span>;
}
