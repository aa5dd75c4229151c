import { describe, expect, it } from "vitest";
import type { McpServer } from "@/api/types";
import {
  connectedCount,
  isLocalConsole,
  isWebAddress,
  mainActions,
  serverActions,
  serverStyle,
} from "./mcpServers";

function server(more: Partial<McpServer> = {}): McpServer {
  return {
    name: "srv",
    state: "connected",
    source: "",
    level: "user",
    trusted: true,
    error: "",
    transport: "stdio",
    target: "",
    tools: [],
    prompts: 0,
    resources: 0,
    digest: "",
    needs_approval: false,
    can_sign_in: false,
    sign_in: "",
    live: true,
    ...more,
  };
}

function able(more: Partial<McpServer>): string[] {
  return Object.entries(serverActions(server(more)))
    .filter(([, can]) => can)
    .map(([name]) => name);
}

describe("what can be done with a server", () => {
  it("follows from its state", () => {
    expect(able({})).toEqual(["reconnect", "switchOff"]);
    expect(able({ state: "failed" })).toEqual(["reconnect", "switchOff"]);
    expect(able({ state: "pending" })).toEqual(["switchOff"]);
    expect(able({ state: "disabled" })).toEqual(["switchOn"]);
    expect(able({ state: "needs-auth", can_sign_in: true })).toEqual(["signIn", "reconnect", "switchOff"]);
    expect(able({ state: "disabled", needs_approval: true, error: "needs you" })).toEqual(["approve"]);
    expect(able({ state: "disabled", error: "not trusted" })).toEqual([]);
    expect(able({ state: "configured", live: false })).toEqual([]);
  });

  it("is said in a word and a shape", () => {
    expect(serverStyle(server({ state: "needs-auth" }))).toMatchObject({
      shape: "◆",
      word: "sign-in needed",
    });
    expect(serverStyle(server({ state: "disabled", needs_approval: true })).word).toBe("needs approval");
    expect(serverStyle(server({ state: "disabled", error: "not trusted" })).word).toBe("not started");
    expect(serverStyle(server({ state: "strange" })).word).toBe("strange");
  });
});

it("is shown at once where somebody is needed, and else among the details", () => {
  expect(mainActions(server())).toMatchObject({ reconnect: false, switchOff: false });
  expect(mainActions(server({ state: "failed" }))).toMatchObject({ reconnect: true, switchOff: false });
  expect(mainActions(server({ state: "needs-auth", can_sign_in: true }))).toMatchObject({ signIn: true });
});

it("counts those that are connected once an agent runs", () => {
  expect(connectedCount([server(), server({ state: "failed" })])).toBe("1 of 2 connected");
  expect(connectedCount([server({ live: false, state: "configured" })])).toBe("1");
});

it("opens web addresses only", () => {
  expect(isWebAddress("https://example.org/authorize?x=1")).toBe(true);
  for (const bad of ["javascript:alert(1)", "file:///etc/passwd", "", "example.org"])
    expect(isWebAddress(bad)).toBe(false);
});

it("knows a console on this machine by its address", () => {
  expect(["127.0.0.1", "localhost", "[::1]"].every(isLocalConsole)).toBe(true);
  expect(isLocalConsole("console.example.org")).toBe(false);
});
