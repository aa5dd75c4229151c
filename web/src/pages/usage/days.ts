/** Calendar days in UTC, as the server counts them, without gaps. */
import type { Spent } from "@/api/types";

const DAY = 86_400_000;

export function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

/** The first day of a range that ends today. */
export function firstDay(days: number, now: number): string {
  return dayOf(now - (days - 1) * DAY);
}

/** Every day of the range, oldest first; unused days with zeros. */
export function everyDay(spent: readonly Spent[], days: number, now: number): Spent[] {
  const known = new Map(spent.map((each) => [each.key, each]));
  return Array.from({ length: days }, (_, index) => {
    const key = dayOf(now - (days - 1 - index) * DAY);
    return known.get(key) ?? nothing(key);
  });
}

function nothing(key: string): Spent {
  return {
    key,
    calls: 0,
    input: 0,
    output: 0,
    cache_read: 0,
    cache_write: 0,
    cost: 0,
    cache_hit_rate: 0,
    sessions: 0,
    tool_calls: 0,
    tool_errors: 0,
    tool_denied: 0,
    tool_ms: 0,
    title: "",
    context: null,
    context_limit: null,
    fullness: null,
    level: null,
  };
}

export function dayLabel(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString([], {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  });
}

/** Steps of a scale up to a round number at or above a value. */
export function scaleOf(most: number, steps = 4): number[] {
  if (most <= 0) return [0];
  const rough = most / steps;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough - 1e-12) ?? rough;
  const marks: number[] = [];
  for (let at = 0; at < most + step - 1e-9; at += step) marks.push(Number(at.toPrecision(12)));
  return marks;
}
