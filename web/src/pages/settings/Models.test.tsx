import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Me, ProviderView, ServerConfig } from "@/api/types";
import { useApp } from "@/state/app";
import { Models } from "./Models";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

const RIGHT = "sk-right";
const REFUSED = "The key was refused: invalid x-api-key.";
let root: Root;
let place: HTMLElement;
let stored: string;

/** A server with one provider, which accepts one key. */
async function answer(request: Request): Promise<Response> {
  const path = new URL(request.url, "http://x").pathname.replace("/api/v1", "");
  const body = request.method === "GET" ? {} : ((await request.json()) as { key?: string });
  if (path === "/config") return Response.json({ default_model: stored ? "default" : "", models: MODELS });
  if (path.endsWith("/test")) {
    const accepted = (body.key || stored) === RIGHT;
    return Response.json({ accepted, problem: accepted ? "" : REFUSED });
  }
  if (request.method === "PUT") stored = body.key ?? "";
  return Response.json({ ...LIST, default_model: stored ? "default" : "", providers: [provider()] });
}

const MODELS = [{ alias: "default", label: "Claude Opus", available: true }] as ServerConfig["models"];
const LIST = { chosen_model: "", environment_model: "", warning: "" };
const provider = (): ProviderView => ({
  name: "anthropic",
  label: "Anthropic",
  key: stored ? "stored" : "none",
  source: "",
  stored: stored !== "",
  local: false,
});

beforeEach(async () => {
  stored = "";
  vi.stubGlobal("fetch", answer);
  useApp.setState({ me: { scopes: ["admin"] } as Me, config: { models: MODELS } as ServerConfig });
  place = document.body.appendChild(document.createElement("div"));
  root = createRoot(place);
  await act(async () =>
    root.render(
      <QueryClientProvider client={new QueryClient()}>
        <Models />
      </QueryClientProvider>,
    ),
  );
  await vi.waitFor(() => button("Add key"));
});

afterEach(async () => {
  await act(async () => root.unmount());
  place.remove();
  vi.unstubAllGlobals();
});

function button(words: string): HTMLButtonElement {
  const found = [...place.querySelectorAll("button")].find((each) => each.textContent === words);
  if (!found) throw new Error(`no button ${words}: ${place.textContent}`);
  return found;
}

const press = (words: string) => act(async () => button(words).click());
const field = () => place.querySelector<HTMLInputElement>("input[type=password]");

async function save(key: string): Promise<void> {
  const input = field();
  if (!input) throw new Error("no field for a key");
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, key);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await press("Save key");
}

test("a key that is refused is not stored, and the field stays for another try", async () => {
  await press("Add key");
  await save("sk-wrong");
  expect(place.querySelector("[role=alert]")?.textContent).toBe(`Not saved. ${REFUSED}`);
  expect(stored).toBe("");
  expect(field()?.value).toBe("sk-wrong");
  await save(RIGHT);
  expect(stored).toBe(RIGHT);
  expect(field()).toBeNull();
  expect(place.textContent).toContain("✓ Key stored");
  expect(place.textContent).toContain("Key accepted");
  expect(place.textContent).toContain("New sessions use Claude Opus.");
});

test("a key that cannot be tested just now can be stored all the same", async () => {
  await press("Add key");
  expect(() => button("Save anyway")).toThrow();
  await save("sk-for-a-proxy");
  await press("Save anyway");
  expect(stored).toBe("sk-for-a-proxy");
  expect(place.querySelector("[role=alert]")).toBeNull();
});
