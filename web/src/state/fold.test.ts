import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Entry, entryOfFrame, type Frame, isStored, type Part } from "@/stream/frames";
import { markText } from "@/transcript/labels";
import { Fold } from "./fold";
import claude from "./recordings/claude.json";
import native from "./recordings/native.json";
import type { Row } from "./rows";

const RECORDINGS = { native: native as unknown as Frame[], claude: claude as unknown as Frame[] };

/** What a client hears, as the fold takes it. */
function hear(fold: Fold, frames: Frame[]): void {
  for (const frame of frames) {
    if (isStored(frame)) fold.apply([entryOfFrame(frame)]);
    else if (frame.type === "stream.synchronized") fold.synchronize(frame.data.parts ?? []);
    else if (frame.type.startsWith("part.") || frame.type === "tool.output")
      expect(fold.applyPart(frame.type, frame.data as Part)).toBe(true);
  }
}

function entriesOf(frames: Frame[]): Entry[] {
  return frames.filter(isStored).map(entryOfFrame);
}

/** All that is shown, but for when words that are being said began. */
function shown(fold: Fold): unknown {
  const rows = [...fold.rows.values()].map((row: Row) => ({ ...row, at: 0, printed: 0 }));
  const items = fold.items.map((item) => ({ ...item }));
  const byId = (a: Row, b: Row) => (a.id < b.id ? -1 : 1);
  return {
    rows: rows.sort(byId),
    items,
    children: [...fold.children],
    tasks: fold.tasks,
    seq: fold.seq,
    turn: fold.turn,
  };
}

function replayed(frames: Frame[]): Fold {
  const fold = new Fold();
  fold.apply(entriesOf(frames));
  return fold;
}

/** What the server would tell somebody who joins after `frames`: the parts that are open, as far as they were sent. */
function openParts(frames: Frame[]): Part[] {
  const open = new Map<string, Part>();
  for (const frame of frames) {
    if (isStored(frame)) {
      const event = frame.data;
      if (event.type === "block_done") open.delete(`${event.message_id}/${event.index}`);
      if (event.type === "tool_done") open.delete(event.reply.call_id);
      if (event.type === "run_done") open.clear();
      continue;
    }
    const part = (frame.data ?? {}) as Part;
    const key = frame.type === "tool.output" ? (part.call_id ?? "") : `${part.message_id}/${part.index}`;
    if (frame.type === "part.began") open.set(key, { ...part, offset: 0, text: "" });
    if (frame.type === "part.delta" || frame.type === "tool.output") {
      const before = open.get(key);
      open.set(key, { ...part, ...before, offset: 0, text: (before?.text ?? "") + part.text });
    }
    if (frame.type === "part.dropped") open.delete(key);
  }
  return [...open.values()];
}

describe.each(Object.entries(RECORDINGS))("a recorded stream of %s", (_, frames) => {
  test("shows the same live and replayed", () => {
    const live = new Fold();
    hear(live, frames);
    expect(shown(live)).toEqual(shown(replayed(frames)));
  });

  test("shows the same after a connection lost and found at any two places (FM-1, FM-2)", () => {
    const place = fc.integer({ min: 0, max: frames.length });
    fc.assert(
      fc.property(place, place, (a, b) => {
        const [lost, back] = [Math.min(a, b), Math.max(a, b)];
        const fold = new Fold();
        hear(fold, frames.slice(0, lost));
        fold.apply(entriesOf(frames.slice(0, back)).filter((entry) => entry.seq > fold.seq));
        fold.synchronize(openParts(frames.slice(0, back)));
        hear(
          fold,
          frames.slice(back).filter((frame) => frame.type !== "stream.synchronized"),
        );
        expect(shown(fold)).toEqual(shown(replayed(frames)));
      }),
      { numRuns: 300 },
    );
  });

  test("shows while it is said what it shows when it is stored", () => {
    const fold = new Fold();
    for (const frame of frames) {
      if (isStored(frame) && frame.data.type === "block_done" && frame.data.block.type === "text") {
        const row = fold.rows.get(`${frame.data.message_id}/${frame.data.index}`);
        if (row?.kind === "text") expect(frame.data.block.text.startsWith(row.text)).toBe(true);
      }
      hear(fold, [frame]);
    }
  });

  test("shows the same whatever comes twice", () => {
    const fold = new Fold();
    for (const frame of frames) hear(fold, [frame, ...(isStored(frame) ? [frame] : [])]);
    expect(shown(fold)).toEqual(shown(replayed(frames)));
  });

  test("has nothing open and nothing running at its end (FM-10)", () => {
    const fold = new Fold();
    hear(fold, frames);
    expect([...fold.open]).toEqual([]);
    expect([...fold.unfinished]).toEqual([]);
  });
});

const BASE = { parent: "", at: 0, agent: "", parentCall: "" };
let seq = 0;
function entry(event: object, more: Partial<Entry> = {}): Entry {
  seq += 1;
  return { ...BASE, seq, id: `e${seq}`, event: event as Entry["event"], ...more };
}
const call = (id: string, name = "Bash", more: Partial<Entry> = {}) =>
  entry(
    {
      type: "block_done",
      message_id: `m-${id}`,
      index: 0,
      block: { type: "tool_call", id, name, input: { command: id } },
    },
    more,
  );
const result = (id: string, text: string, more: object = {}) =>
  entry({
    type: "tool_done",
    reply: { type: "tool_reply", call_id: id, content: [{ type: "text", text }] },
    ...more,
  });

function folded(...entries: Entry[]): Fold {
  const fold = new Fold();
  fold.apply(entries);
  return fold;
}

describe("calls and results", () => {
  test("a call is shown at once, before its result (S000-71)", () => {
    expect(folded(call("a")).tool("a")).toMatchObject({ status: "pending", input: { command: "a" } });
  });

  test("a result before its call is held and joined to it (FM-9)", () => {
    const early = result("late", "out");
    const fold = folded(early);
    expect(fold.tool("late")).toMatchObject({ status: "no_call", output: "out" });
    fold.apply([call("late")]);
    expect(fold.tool("late")).toMatchObject({
      status: "completed",
      output: "out",
      input: { command: "late" },
      name: "Bash",
    });
    expect(fold.items).toHaveLength(1);
  });

  test("of two results the last counts, in the same place (S002-11, S002-13)", () => {
    const fold = folded(call("x"), result("x", "first"), call("y"), result("x", "second"));
    expect(fold.tool("x")?.output).toBe("second");
    expect(fold.items.map((item) => item.id)).toEqual(["x", "y"]);
  });

  test("a call without a result does not run for ever: the end of the turn ends it (FM-10)", () => {
    const fold = folded(call("z"), entry({ type: "run_done", ending: "interrupted_tools" }));
    expect(fold.tool("z")?.status).toBe("interrupted");
  });

  test("what the harness tells only the model is no row, what a person said is one", () => {
    const reminder = (why: string) =>
      entry({ type: "prompted", id: why, blocks: [{ type: "text", text: "x" }], origin: "harness", why });
    const before = [reminder("instructions"), reminder("output_style"), reminder("mention")];
    const said = entry({ type: "prompted", id: "p", blocks: [{ type: "text", text: "see @f.txt" }] });
    const fold = folded(...before, said, reminder("repeat"));
    expect(fold.items.map((item) => item.id)).toEqual(["p", "repeat"]);
  });

  test("a run of looking around is one item, and words end it", () => {
    const text = { type: "block_done", message_id: "t", index: 0, block: { type: "text", text: "Hm." } };
    const fold = folded(
      call("r1", "Read"),
      call("r2", "Grep"),
      call("r3", "Glob"),
      entry(text),
      call("r4", "Read"),
    );
    expect(fold.items.map((item) => item.rows)).toEqual([["r1", "r2", "r3"], ["t/0"], ["r4"]]);
  });

  test("what a sub-agent does stands under the call that started it", () => {
    const fold = folded(call("agent", "Agent"), call("inner", "Read", { parentCall: "agent" }));
    expect(fold.items.map((item) => item.id)).toEqual(["agent"]);
    expect(fold.children.get("agent")).toEqual(["inner"]);
  });

  test("an entry of a kind nobody knows is a row of its own (S000-13)", () => {
    const fold = folded(entry({ type: "invented_later", text: "?" }));
    expect([...fold.rows.values()][0]).toMatchObject({ kind: "unknown", name: "invented_later" });
  });

  test("what a rewind leaves out is marked, not removed", () => {
    const [one, two] = [call("one"), call("two")];
    const again = call("again", "Bash", { parent: one.id });
    const fold = folded(one, { ...two, parent: one.id }, again);
    expect(fold.tool("two")?.superseded).toBe(true);
    expect(fold.tool("one")?.superseded).toBeUndefined();
    expect(fold.items.map((item) => item.id)).toContain(`rewind-${again.id}`);
  });
});

describe("words that are being said", () => {
  const began = (text: string): Part => ({ message_id: "m", index: 0, kind: "text", offset: 0, text });

  test("a piece after a hole is refused, so that the whole is asked for", () => {
    const fold = new Fold();
    fold.applyPart("part.delta", began("Hello"));
    expect(fold.applyPart("part.delta", { ...began(" there"), offset: 9 })).toBe(false);
    expect(fold.applyPart("part.delta", { ...began(" you"), offset: 5 })).toBe(true);
    expect(fold.rows.get("m/0")).toMatchObject({ text: "Hello you" });
  });

  test("words that are void leave nothing behind", () => {
    const fold = new Fold();
    fold.applyPart("part.delta", began("Hello"));
    fold.applyPart("part.dropped", began(""));
    expect([...fold.rows]).toEqual([]);
    expect(fold.items).toEqual([]);
  });

  test("the end of an output is kept however much is printed", () => {
    const fold = folded(call("out"));
    fold.applyPart("tool.output", { call_id: "out", offset: 0, text: "x".repeat(60_000) });
    fold.applyPart("tool.output", { call_id: "out", offset: 60_000, text: "y".repeat(60_000) });
    expect(fold.tool("out")?.tail).toHaveLength(64 * 1024);
    fold.applyPart("tool.output", { call_id: "out", offset: 500_000, text: "z" });
    expect(fold.tool("out")?.tail).toBe("z");
  });
});

test("an entry changes a row or two, however many there are (FM-23)", () => {
  const fold = new Fold();
  for (let number = 0; number < 20_000; number += 1) {
    fold.changed = new Set();
    const id = `call-${number >> 1}`;
    fold.apply([number % 2 === 0 ? call(id) : result(id, "out")]);
    expect(fold.changed.size).toBeLessThanOrEqual(2);
  }
  expect(fold.items).toHaveLength(10_000);
});

describe("the time of a turn", () => {
  const at = (seconds: number, event: object): Entry =>
    ({
      seq: seconds,
      id: `e${seconds}`,
      parent: "",
      at: seconds * 1000,
      event,
      agent: "",
      parentCall: "",
    }) as Entry;
  const opened = (id: string) => ({
    type: "interaction_opened",
    id,
    kind: "permission",
    call: { type: "tool_call", id: `call-${id}`, name: "Bash", input: {} },
  });
  const closed = (id: string) => ({ type: "interaction_closed", id, outcome: "allowed" });

  test("is without the time a person took to decide, also where they decided on two at once", () => {
    const fold = new Fold();
    fold.apply([
      at(1, { type: "turn_started", turn: 1, model: "m", mode: "default" }),
      at(10, opened("a")),
      at(20, opened("b")),
      at(40, closed("a")),
      at(70, closed("b")),
      at(90, opened("c")),
      at(100, { type: "run_done", ending: "interrupted_tools", duration_ms: 99_000 }),
    ]);
    const row = [...fold.rows.values()].find((each) => each.kind === "turn");
    expect(row).toMatchObject({ durationMs: 29_000, waitedMs: 70_000 });
  });
});

test("a talk that went on in a terminal is marked there and where it came back, and nowhere else (S004-36)", () => {
  let seq = 0;
  const entry = (event: object): Entry => {
    seq += 1;
    return { seq, id: `w${seq}`, parent: "", at: seq, event, agent: "", parentCall: "" } as Entry;
  };
  const started = (kind: string, epoch: number, engine_session = "") =>
    entry({ type: "worker_started", worker: kind, kind, epoch, engine_session });
  const prompted = (text: string) =>
    entry({ type: "prompted", id: text, blocks: [{ type: "text", text }], origin: "human" });
  const fold = new Fold();
  fold.apply([
    started("process", 1),
    started("process", 1, "talk"),
    prompted("one"),
    started("process", 2, "talk"),
    started("terminal", 1),
    started("terminal", 1, "talk"),
    prompted("in the terminal"),
    started("process", 3),
    started("process", 3, "talk"),
    prompted("two"),
  ]);
  const rows = [...fold.rows.values()];
  expect(rows.map((row) => (row.kind === "mark" ? markText(row) : row.kind))).toEqual([
    "user",
    "Continued in a terminal. Messages there appear here as far as the engine records them.",
    "user",
    "Back in the console. Both histories are kept.",
    "user",
  ]);
});

test("hooks that said something are shown with their outcome, others are not (S002-17)", () => {
  const ran = (seq: number, outcome: string, more: object = {}): Entry =>
    ({
      seq,
      id: `h${seq}`,
      parent: "",
      at: seq,
      event: { type: "hook_ran", hook: "PreToolUse:Bash", event: "PreToolUse", outcome, ...more },
      agent: "",
      parentCall: "",
    }) as unknown as Entry;
  const fold = new Fold();
  fold.apply([
    ran(1, "none"),
    ran(2, "deny", { text: "not today", duration_ms: 12 }),
    ran(3, "error"),
    ran(4, "success"),
  ]);
  const rows = [...fold.rows.values()].map((row) =>
    row.kind === "notice" ? [row.level, row.text] : row.kind,
  );
  expect(rows).toEqual([
    ["info", "PreToolUse:Bash hook: deny: not today (12 ms)"],
    ["warning", "PreToolUse:Bash hook: error"],
  ]);
});
