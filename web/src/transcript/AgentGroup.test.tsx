import { Tooltip } from "radix-ui";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SessionView } from "@/api/types";
import { useApp } from "@/state/app";
import { Transcript } from "@/state/transcript";
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
        <LineView transcript={transcript} item={item} place={0} line={() => undefined} />
      </Tooltip.Provider>,
    ),
  );
}

const isOpen = () => place.querySelector("button")?.getAttribute("aria-expanded") === "true";

test("a group opens while something in it waits for a person, and is then as it was before (S000-80)", () => {
  const transcript = new Transcript("t");
  transcript.begin(
    [
      call("a", "Task", { description: "review" }),
      call("b", "Task", { description: "deeper" }, "a"),
      call("c", "Bash", { command: "rm -r x" }, "b"),
      done("b", "Task", "a"),
      done("a", "Task"),
    ],
    "epoch",
  );
  show(transcript);
  expect(place.textContent).toContain("Task: review");
  expect(place.textContent).toContain("(1 tool)");
  expect(isOpen()).toBe(false);
  act(() => asks("c"));
  expect(isOpen()).toBe(true);
  expect(place.textContent).toContain("rm -r x");
  act(() => asks());
  expect(isOpen()).toBe(false);
  act(() => place.querySelector("button")?.click());
  act(() => asks("c"));
  act(() => asks());
  expect(isOpen()).toBe(true);
});

test("a group is open while it runs and a line when it is over; what its agent does comes in one by one", () => {
  const transcript = new Transcript("t");
  transcript.begin([call("x", "Task", { description: "look" })], "epoch");
  show(transcript);
  expect(isOpen()).toBe(true);
  act(() => {
    transcript.take([call("y", "Bash", { command: "ls" }, "x")]);
    transcript.tell();
  });
  expect(place.textContent).toContain("$ ls");
  expect(place.textContent).toContain("(1 tool)");
  act(() => {
    transcript.take([done("y", "Bash", "x"), done("x", "Task")]);
    transcript.tell();
  });
  expect(isOpen()).toBe(false);
});
