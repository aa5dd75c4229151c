import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_SETTLED, useApp } from "@/state/app";
import { Transcript } from "@/state/transcript";
import type { LiveFrame } from "./frames";
import { Pump } from "./pump";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function pumped(transcript?: Transcript) {
  const heard: LiveFrame[] = [];
  const pump = new Pump({
    onThreshold: () => undefined,
    transcript: () => transcript,
    onGap: () => undefined,
    onSynchronized: () => undefined,
    onFrame: (frame) => heard.push(frame),
  });
  return { pump, heard };
}

const pong: LiveFrame = { type: "pong", data: { id: "" } };

test("what came just before the page was hidden is not held back until it is seen again", () => {
  vi.stubGlobal("requestAnimationFrame", () => 1); // a hidden page draws nothing
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  const { pump, heard } = pumped();
  pump.push([pong]);
  vi.advanceTimersByTime(1000);
  expect(heard).toHaveLength(1);
  pump.push([pong]);
  vi.advanceTimersByTime(1000);
  expect(heard).toHaveLength(2);
});

test("what is drawn in time is brought once", () => {
  let draw = () => undefined as unknown;
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => {
    draw = act;
    return 1;
  });
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  const { pump, heard } = pumped();
  pump.push([pong]);
  draw();
  expect(heard).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("the first words of an answer are shown with the next frame of the screen (S000-91)", () => {
  const draws: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => draws.push(draw));
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  const transcript = new Transcript("s");
  const shown: string[] = [];
  transcript.subscribe(() => {
    for (const row of transcript.fold.rows.values()) if (row.kind === "text") shown.push(row.text);
  });
  const { pump } = pumped(transcript);
  const part = { message_id: "m", index: 0, kind: "text" as const };
  pump.push([
    { type: "part.began", topic: "session:s", data: part },
    { type: "part.delta", topic: "session:s", data: { ...part, offset: 0, text: "Good mor" } },
  ]);
  expect(draws).toHaveLength(1);
  draws[0]?.();
  expect(shown).toEqual(["Good mor"]);
});

test("of what was settled only the newest is remembered, however long the page is open", () => {
  vi.stubGlobal("requestAnimationFrame", () => 1);
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  const { pump } = pumped();
  const ids = Array.from({ length: MAX_SETTLED + 50 }, (_, index) => `i${index}`);
  const resolved = (id: string): LiveFrame => ({
    type: "interaction.resolved",
    topic: "app",
    data: { session_id: "s", id, outcome: "allowed", by: "me" },
  });
  pump.push(ids.map(resolved));
  vi.advanceTimersByTime(60_000);
  expect(Object.keys(useApp.getState().settled)).toEqual(ids.slice(-MAX_SETTLED));
});
