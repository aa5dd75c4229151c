import { beforeEach, expect, test } from "vitest";
import type { ServerConfig, StreamFrame } from "@/api/types";
import { useApp } from "@/state/app";
import { useToasts } from "@/ui/toast";
import { notifyThreshold } from "./contextWarning";

const NOW = Date.parse("2026-11-16T06:00:00Z");
const frame = (threshold: string, ts = "2026-11-16T05:59:59Z") =>
  ({ session_id: "s", ts, threshold }) as StreamFrame;
const toasts = () => useToasts.getState().toasts.map((each) => [each.message, each.error]);

beforeEach(() => {
  useToasts.setState({ toasts: [] });
  const thresholds = { warning: { at: 0.6, text: "Getting full" }, critical: { at: 0.9, text: "Full" } };
  useApp.setState({ config: { thresholds } as ServerConfig });
});

test("a context that grows full is told of once at each mark, the second so that it is not missed (S000-67)", () => {
  notifyThreshold(frame("warning"), NOW);
  expect(toasts()).toEqual([["Getting full", false]]);
  notifyThreshold(frame("critical"), NOW);
  expect(toasts()).toEqual([["Full", true]]);
});

test("what is replayed is not told again", () => {
  notifyThreshold(frame("critical", "2026-11-16T05:00:00Z"), NOW);
  expect(toasts()).toEqual([]);
});
