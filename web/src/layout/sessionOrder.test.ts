import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionView } from "@/api/types";
import { byId, request, session } from "@/state/session.fixture";
import { arrange, type ListItem, matches, projectNames, sameItems, titleOf } from "./sessionOrder";

const NOW = 1_000_000;
const HERE = { grouping: "state", filter: "", archived: false } as const;

function keys(items: ListItem[]): string[] {
  return items.map((item) => (item.kind === "head" ? `# ${item.title} ${item.count}` : item.id));
}

const waits = (id: string, since: number) =>
  session(id, { status: "waiting_input", interactions: [request(`${id}-asks`, since)] });

describe("the list by state", () => {
  it("has what was cut off where somebody is needed, and what somebody stopped with what is done", () => {
    const error = "The server ended while this ran.";
    const sessions = byId(
      session("stopped", { status: "interrupted", ended_at: NOW - 3 }),
      session("cut", { status: "interrupted", error, ended_at: NOW - 4 }),
      session("long ago", { status: "interrupted", error, ended_at: NOW - 8 * 86_400 }),
    );
    const found = keys(arrange(sessions, HERE, NOW));
    expect(found).toEqual(["# Needs you 1", "cut", "# Done 2", "stopped", "long ago"]);
  });

  it("has first who needs somebody, the longest waiting on top, then what runs, what failed, what is done", () => {
    const sessions = byId(
      session("done", { updated_at: NOW - 5 }),
      session("older", { updated_at: NOW - 50 }),
      session("failed", { status: "failed", ended_at: NOW - 60 }),
      session("runs", { status: "running", created_at: 5 }),
      session("starts", { status: "starting", created_at: 9 }),
      waits("late", NOW - 1),
      waits("early", NOW - 100),
    );
    expect(keys(arrange(sessions, HERE, NOW))).toEqual([
      "# Needs you 2",
      "early",
      "late",
      "# Running 2",
      "starts",
      "runs",
      "# Failed 1",
      "failed",
      "# Done 2",
      "done",
      "older",
    ]);
  });

  it("takes what failed more than a day ago for done", () => {
    const old = session("old", { status: "failed", ended_at: NOW - 90_000 });
    expect(keys(arrange(byId(old), HERE, NOW))).toEqual(["# Done 1", "old"]);
  });

  it("does not move what runs when it does something", () => {
    const first = session("a", { status: "running", created_at: 1, updated_at: 10 });
    const second = session("b", { status: "running", created_at: 2, updated_at: 5 });
    const before = arrange(byId(first, second), HERE, NOW);
    const after = arrange(byId({ ...first, updated_at: 99 }, second), HERE, NOW);
    expect(sameItems(before, after)).toBe(true);
  });

  it("puts pinned ones first in their section and nowhere else", () => {
    const sessions = byId(
      session("new", { updated_at: NOW }),
      session("pinned", { pinned: true, updated_at: 1 }),
      session("runs", { status: "running" }),
    );
    expect(keys(arrange(sessions, HERE, NOW))).toEqual(["# Running 1", "runs", "# Done 2", "pinned", "new"]);
  });

  it("leaves out what is archived unless asked for, and always what was discarded", () => {
    const sessions = byId(
      session("a", { archived: true }),
      session("b", { status: "discarded" }),
      session("c"),
    );
    expect(keys(arrange(sessions, HERE, NOW))).toEqual(["# Done 1", "c"]);
    expect(keys(arrange(sessions, { ...HERE, archived: true }, NOW))).toEqual([
      "# Done 1",
      "c",
      "# Archived 1",
      "a",
    ]);
  });
});

describe("the list by project", () => {
  it("groups by the project a work tree came from, who needs somebody first", () => {
    const sessions = byId(
      session("b", { cwd: "/w/zoo" }),
      { ...waits("a", NOW), cwd: "/w/zoo" },
      session("c", { cwd: "/trees/1", project: "/w/bar" }),
    );
    expect(keys(arrange(sessions, { ...HERE, grouping: "project" }, NOW))).toEqual([
      "# zoo 2",
      "a",
      "b",
      "# bar 1",
      "c",
    ]);
  });

  it("tells directories of the same name apart", () => {
    expect([...projectNames(["/a/shop", "/b/shop", "/c/docs/"]).values()]).toEqual([
      "a/shop",
      "b/shop",
      "docs",
    ]);
  });
});

describe("the filter", () => {
  it("wants each word somewhere in title, path or branch", () => {
    const one = session("id", { title: "Fix the cart", cwd: "/home/ada/shop" });
    expect(matches(one, "cart shop")).toBe(true);
    expect(matches(one, "cart docs")).toBe(false);
    expect(matches(one, "  ")).toBe(true);
  });
});

describe("a title", () => {
  it("is one line in which nothing turns the text around", () => {
    expect(titleOf(session("x", { title: "a\u202egnp.exe\n\u0007b\u2066" }))).toBe("agnp.exe b");
    expect(titleOf(session("x", { title: "", first_prompt: "do it" }))).toBe("do it");
    expect(titleOf(session("x", { title: "\u202e" }))).toBe("Untitled session");
  });
});

describe("whatever sessions there are", () => {
  const status = fc.constantFrom<SessionView["status"]>(
    "draft",
    "starting",
    "running",
    "waiting_input",
    "interrupting",
    "interrupted",
    "completed",
    "failed",
  );
  const some = fc.array(
    fc.record({
      status,
      archived: fc.boolean(),
      pinned: fc.boolean(),
      updated_at: fc.nat(),
      cwd: fc.string(),
    }),
  );

  it("each is there once, in either grouping, and the counts are right", () => {
    fc.assert(
      fc.property(some, fc.boolean(), (drawn, project) => {
        const sessions = byId(...drawn.map((each, place) => session(`s${place}`, each)));
        const items = arrange(
          sessions,
          { grouping: project ? "project" : "state", filter: "", archived: true },
          NOW,
        );
        const ids = items.flatMap((item) => (item.kind === "session" ? [item.id] : []));
        expect([...ids].sort()).toEqual(Object.keys(sessions).sort());
        const counted = items.reduce((sum, item) => sum + (item.kind === "head" ? item.count : 0), 0);
        expect(counted).toBe(drawn.length);
        expect(new Set(items.map((item) => item.id)).size).toBe(items.length);
      }),
    );
  });
});
