import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useApp } from "@/state/app";
import { MISSING_PART } from "@/ui/ErrorBoundary";
import { ErrorPage } from "./ErrorPage";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let root: Root;
const reload = vi.spyOn(location, "reload").mockImplementation(() => undefined);

beforeEach(() => {
  reload.mockClear();
  root = createRoot(document.createElement("div"));
});

afterEach(() => act(() => root.unmount()));

function broken(words: string, connection: "live" | "connecting", wasLive = true): void {
  useApp.setState({ connection, wasLive });
  act(() => root.render(<ErrorPage error={new Error(words)} />));
}

const back = () => act(() => useApp.setState({ connection: "live" }));

test("a part that could not be loaded without a server is loaded when the server is back", () => {
  broken(MISSING_PART, "connecting");
  expect(reload).not.toHaveBeenCalled();
  back();
  expect(reload).toHaveBeenCalledOnce();
});

test("a part that a server does not have is not asked for again and again", () => {
  broken(MISSING_PART, "live");
  back();
  expect(reload).not.toHaveBeenCalled();
});

test("a page that was just loaded without one of its parts is not loaded again and again", () => {
  broken(MISSING_PART, "connecting", false);
  act(() => useApp.setState({ connection: "live", wasLive: true }));
  expect(reload).not.toHaveBeenCalled();
  act(() => useApp.setState({ connection: "connecting" }));
  back();
  expect(reload).toHaveBeenCalledOnce();
});

test("a page that cannot be drawn is not loaded again by itself", () => {
  broken("x is not a function", "connecting");
  back();
  expect(reload).not.toHaveBeenCalled();
});
