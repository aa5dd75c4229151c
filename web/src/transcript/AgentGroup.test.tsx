import { Tooltip } from "radix-ui";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SessionView } from "@/api/types";
import { useApp } from "@/state/app";
import { Transcript } from "@/state/transcript";
import { useFolds } from "@/state/ui";
import type { Entry } from "@/stream/frames";
import { LineView } from "./LineView";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let root: Root;
let place: HTMLElement;
let seq = 0;

function entry(event: object, parentCall = ""): Entry {
  seq += 1;
  return { seq, id: `e${seq}`, parent: "", at: seq, event: event as Entry["event"], agent: "", parentCall };
}

function call(id: string, name: string, input: object, parentCall = ""): Entry {
  const block = { type: "tool_call", id, name, input };
  return entry({ type: "block_done", message_id: `m${id}`, index: 0, block }, parentCall);
}

function done(id: string, name: string, parentCall = ""): Entry {
  const reply = { type: "tool_reply", call_id: id, content: [{ type: "text", text: "ok" }], is_error: false };
  return entry({ type: "tool_done", reply, name }, parentCall);
}

function asks(...calls: string[]): void {
  const interactions = calls.map((call_id) => ({ id: `i-${call_id}`, call_id }));
  useApp.setState({ sessions: { t: { id: "t", interactions } as unknown as SessionView } });
}

beforeEach(() => {
  seq = 0;
  useFolds.setState({ open: {} });
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
  asks();
});

afterEach(() => act(() => root.unmount()));

function show(transcript: Transcript): void {
  const item = transcript.fold.items[0];
  if (!item) throw new Error("nothing to show");
  act(() =>
    root.render(
      <Tooltip.Provider>
        <LineView transcript={transcript} item={item} position={0} line={() => undefined} />
      </Tooltip.Provider>,
    ),
  );
}

const head = () => place.querySelector("button") as HTMLButtonElement;
const isOpen = () => head().getAttribute("aria-expanded") === "true";

/** A sub-agent that is over, with another one in it that ran a command. */
function nested(): Transcript {
  const transcript = new Transcript("t");
  transcript.load(
    [
      call("a", "Task", { description: "review" }),
      call("b", "Task", { description: "deeper" }, "a"),
      call("c", "Bash", { command: "rm -r x" }, "b"),
      done("b", "Task", "a"),
      done("a", "Task"),
    ],
    "epoch",
  );
  return transcript;
}

test("a group has its task, how many tools, and a chevron; it is open until somebody folds it (S000-80)", () => {
  show(nested());
  expect(head().textContent).toContain("Task: review(1 tool)");
  expect(head().querySelectorAll("svg")).toHaveLength(2);
  expect(isOpen()).toBe(true);
  const lines = [...place.querySelectorAll("button[aria-expanded]")].map((each) => each.textContent);
  expect(lines.slice(0, 3).map((each) => /Task: review|Task: deeper|rm -r x/.exec(each ?? "")?.[0])).toEqual([
    "Task: review",
    "Task: deeper",
    "rm -r x",
  ]);
  act(() => head().click());
  expect(isOpen()).toBe(false);
  expect(place.textContent).not.toContain("rm -r x");
});

test.each([false, true])(
  "a group opens while something in it waits for a person; then it is as before, open or not: %s (S000-80)",
  (before) => {
    show(nested());
    if (!before) act(() => head().click());
    expect(isOpen()).toBe(before);
    act(() => asks("c"));
    expect(isOpen()).toBe(true);
    expect(place.textContent).toContain("rm -r x");
    expect(head().textContent).toContain("needs you");
    act(() => asks());
    expect(isOpen()).toBe(before);
  },
);

test("what an agent does comes in one by one, and stays when it is over", () => {
  const transcript = new Transcript("t");
  transcript.load([call("x", "Task", { description: "look" })], "epoch");
  show(transcript);
  expect(isOpen()).toBe(true);
  act(() => {
    transcript.append([call("y", "Bash", { command: "ls" }, "x")]);
    transcript.notify();
  });
  expect(place.textContent).toContain("$ ls");
  expect(place.textContent).toContain("(1 tool)");
  act(() => {
    transcript.append([done("y", "Bash", "x"), done("x", "Task")]);
    transcript.notify();
  });
  expect(isOpen()).toBe(true);
  expect(place.textContent).toContain("$ ls");
});

test.each([
  ["running", "running", "●"],
  ["completed", "done", "✓"],
  ["killed", "stopped", "◌"],
  ["failed", "failed", "✗"],
  ["lost", "lost", "✗"],
])(
  "the line of an agent in the background says how the agent does, not its call: %s",
  (state, word, shape) => {
    const background = [{ id: "g1", kind: "agent", call_id: "a", state, started_at: 1, ended_at: 2 }];
    const session = { id: "t", interactions: [], background };
    useApp.setState({ sessions: { t: session as unknown as SessionView } });
    show(nested());
    expect(head().textContent).toContain(word);
    expect(head().textContent).toContain(shape);
  },
);
