import { describe, expect, it } from "vitest";
import type { CommandId } from "@/keys/commands";
import { byId, request, session } from "@/state/session.fixture";
import { groupsFor, type Known } from "./paletteItems";

const KNOWN: Known = {
  sessions: byId(
    session("1", { title: "fix the cart", cwd: "/w/shop", updated_at: 3 }),
    session("2", { title: "write docs", cwd: "/w/docs", updated_at: 2 }),
    session("3", { title: "ask me", status: "waiting_input", interactions: [request("q", 1)] }),
  ),
  config: { models: [{ alias: "demo", label: "Offline", available: true }] } as unknown as Known["config"],
  canRun: (id: CommandId) => id !== "stop",
  recent: [],
  here: undefined,
};

const titles = (query: string, more: Partial<Known> = {}) =>
  groupsFor(query, { ...KNOWN, ...more }).map((each) => [
    each.title,
    ...each.items.map((item) => item.title),
  ]);

describe("the palette", () => {
  it("finds sessions by title and by path", () => {
    expect(titles("cart")).toEqual([["Sessions", "fix the cart"]]);
    expect(titles("/w/docs")).toEqual([["Sessions", "write docs"]]);
  });

  it("has who needs somebody first", () => {
    expect(titles("")[0]?.[1]).toBe("ask me");
  });

  it("offers commands that can run, and no others", () => {
    expect(titles("new session")[0]?.slice(0, 2)).toEqual(["Commands", "New session"]);
    expect(titles("stop the agent").flat()).not.toContain("Stop the agent");
    expect(titles("allow").flat()).not.toContain("Allow"); // makes sense only for what is in view
  });

  it("has what was used last on top, and only once", () => {
    const found = titles("", { recent: ["command/go.usage", "session/2", "command/gone"] });
    expect(found[0]).toEqual(["Recent", "Go to usage", "write docs"]);
    expect(found.flat().filter((each) => each === "write docs")).toHaveLength(1);
  });

  it("uses a model in the session that is open, else in a new one", () => {
    expect(titles("demo").flat()).toContain("New session with demo");
    expect(titles("demo", { here: session("1") }).flat()).toContain("Use demo in this session");
  });

  it("finds nothing for what is nowhere", () => {
    expect(titles("zzzz")).toEqual([]);
  });
});
