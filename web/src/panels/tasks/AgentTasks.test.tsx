import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Task } from "@/api/types";
import { AgentTasks } from "./AgentTasks";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let root: Root;
let place: HTMLElement;
let animated: [words: string, from: Keyframe][];

beforeEach(() => {
  place = document.createElement("div");
  root = createRoot(place);
  animated = [];
  // There is no layout here: every line is 28 pixels high.
  vi.spyOn(HTMLElement.prototype, "offsetTop", "get").mockImplementation(function (this: HTMLElement) {
    return 28 * [...(this.parentElement?.children ?? [])].indexOf(this);
  });
  HTMLElement.prototype.animate = function (this: HTMLElement, frames) {
    animated.push([this.textContent ?? "", (frames as Keyframe[])[0] as Keyframe]);
    return {} as Animation;
  };
});

afterEach(() => {
  act(() => root.unmount());
  vi.restoreAllMocks();
});

function show(...tasks: [content: string, status?: Task["status"]][]): HTMLElement[] {
  const list = tasks.map(([content, status = "pending"]) => ({ content, status, active_form: "" }));
  act(() => root.render(<AgentTasks tasks={list} />));
  return [...place.querySelectorAll("li")];
}

test("a task that is put in before others leaves them what they are, and they slide (S002-21)", () => {
  const [read, fix] = show(["Read"], ["Fix"]);
  expect(animated).toEqual([]);
  const after = show(["Look around"], ["Read", "completed"], ["Fix"]);
  expect(after[1]).toBe(read);
  expect(after[2]).toBe(fix);
  expect(after[1]?.textContent).toBe("✓doneRead");
  expect(animated).toEqual([
    ["◦to doLook around", { opacity: 0 }],
    ["✓doneRead", { transform: "translateY(-28px)" }],
    ["◦to doFix", { transform: "translateY(-28px)" }],
  ]);
});

test("tasks of the same words are told apart by their order (S002-21)", () => {
  const [first, second] = show(["Run the tests"], ["Run the tests"]);
  const after = show(["Run the tests", "completed"], ["Commit"], ["Run the tests"]);
  expect(after[0]).toBe(first);
  expect(after[2]).toBe(second);
  expect(animated.map(([words]) => words)).toEqual(["◦to doCommit", "◦to doRun the tests"]);
});

test("nothing slides for who wants no motion", () => {
  vi.spyOn(window, "matchMedia").mockReturnValue({ matches: true } as MediaQueryList);
  show(["Read"], ["Fix"]);
  show(["Fix"], ["Read"]);
  expect(animated).toEqual([]);
});

test("a task that is kept by itself shows its number, its owner and what it still waits for", () => {
  const tasks: Task[] = [
    { id: "1", content: "Read", status: "completed", active_form: "" },
    { id: "2", content: "Fix", status: "in_progress", active_form: "Fixing", owner: "worker" },
    { id: "3", content: "Test", status: "pending", active_form: "", blocked_by: ["1", "2"] },
  ];
  act(() => root.render(<AgentTasks tasks={tasks} />));
  expect([...place.querySelectorAll("li")].map((item) => item.textContent)).toEqual([
    "✓done#1 Read",
    "●doing#2 Fixing · worker",
    "◦to do#3 Test · waits for #2",
  ]);
});
