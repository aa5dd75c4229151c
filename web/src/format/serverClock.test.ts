import { afterEach, expect, test, vi } from "vitest";
import { serverNow, setServerClock } from "./serverClock";
import { ago } from "./values";

afterEach(() => {
  setServerClock(Date.now() / 1000);
  vi.useRealTimers();
});

test("a browser whose clock is hours off shows times by the server's clock", () => {
  vi.useFakeTimers({ now: 10_000_000 });
  for (const hours of [3, -3]) {
    setServerClock(10_000 + hours * 3600);
    vi.advanceTimersByTime(0);
    expect(serverNow()).toBe(10_000_000 + hours * 3_600_000);
    expect(ago(10_000 + hours * 3600 - 50)).toBe("50s");
  }
});

test("a difference that a connection explains is none, and nonsense is ignored", () => {
  vi.useFakeTimers({ now: 10_000_000 });
  for (const said of [10_001.5, 9_999, Number.NaN]) {
    setServerClock(said);
    expect(serverNow()).toBe(10_000_000);
  }
});
