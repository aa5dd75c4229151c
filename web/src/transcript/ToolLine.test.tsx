import { readFileSync } from "node:fs";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { InteractionState, ToolRow, ToolStatus } from "@/state/rows";
import { Transcript } from "@/state/transcript";
import { useFolds } from "@/state/ui";
import { call } from "@/tools/call.fixture";
import { ToolLine } from "./ToolLine";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let root: Root;
let place: HTMLElement;

beforeEach(() => {
  useFolds.setState({ open: {} });
  place = document.createElement("div");
  root = createRoot(place);
});

afterEach(() => act(() => root.unmount()));

function show(change: Partial<ToolRow>): HTMLElement {
  const row = call("Bash", { input: { command: "make test" }, output: "42 passed\nin no time", ...change });
  act(() =>
    root.render(
      <QueryClientProvider client={new QueryClient()}>
        <ToolLine transcript={new Transcript("t")} row={row} sessionId="t" />
      </QueryClientProvider>,
    ),
  );
  return place.querySelector("[data-status]") as HTMLElement;
}

const asked = { id: "i", outcome: "" } as unknown as InteractionState;
const PULSE = ".pulse-needs";

test("a call is one line with a chevron, its tool's icon, its name, its time and how it stands (S000-73)", () => {
  const line = show({ durationMs: 2_000 });
  expect(line.querySelectorAll("button svg")).toHaveLength(2);
  expect(line.textContent).toContain("make test");
  expect(line.textContent).toContain("2.0s");
  expect(line.textContent).toContain("✓done");
});

test("its button opens and folds what the call gave (S000-73)", () => {
  const line = show({});
  const button = line.querySelector("button") as HTMLButtonElement;
  expect(button.getAttribute("aria-expanded")).toBe("false");
  expect(line.textContent).not.toContain("in no time");
  act(() => button.click());
  expect(button.getAttribute("aria-expanded")).toBe("true");
  expect(line.textContent).toContain("in no time");
  act(() => button.click());
  expect(button.getAttribute("aria-expanded")).toBe("false");
  expect(line.textContent).not.toContain("in no time");
});

test.each<[string, Partial<ToolRow>, number]>([
  ["being written", { status: "writing" }, 1],
  ["pending", { status: "pending" }, 1],
  ["running", { status: "running" }, 1],
  ["needs you", { status: "pending", interaction: asked }, 1],
  ["done", { status: "completed" }, 0],
  ["failed", { status: "error" }, 0],
  ["denied", { status: "denied" }, 0],
  ["interrupted", { status: "interrupted" }, 0],
])("a call that says “%s” pulses only until it is over (S000-73)", (word, change, pulsing) => {
  const line = show(change);
  expect(line.querySelector(".sr-only")?.textContent).toBe(word);
  expect(line.querySelectorAll(PULSE)).toHaveLength(pulsing);
});

test("a pulse takes a second and a half (S000-73)", () => {
  const css = readFileSync("src/theme/page.css", "utf8");
  const rule = /@utility pulse-needs \{([^}]*)\}/.exec(css)?.[1];
  expect(rule?.trim()).toBe("animation: needs-you 1.5s ease-in-out infinite;");
});

test.each<[ToolStatus, string]>([
  ["writing", "border-needs"],
  ["pending", "border-needs"],
  ["running", "border-needs"],
  ["completed", "border-done/50"],
  ["error", "border-failed"],
  ["denied", "border-failed"],
  ["interrupted", "border-line-strong"],
])("the edge of a call with the status %s is %s (S000-78)", (status, edge) => {
  const borders = [...show({ status }).classList].filter((name) => name.startsWith("border-"));
  expect(borders).toEqual(["border-l-2", edge]);
});
