import { describe, expect, it } from "vitest";
import { request, session } from "@/state/session.fixture";
import { notificationsFor, pageTitle } from "./notificationContent";

describe("what is news", () => {
  it("is each request that was not there before, once", () => {
    const before = session("s", { status: "waiting_input", interactions: [request("1", 1)] });
    const now = { ...before, interactions: [request("1", 1), request("2", 2, "question")] };
    expect(notificationsFor(before, now, false)).toEqual([
      { tag: "request-2", title: "s", body: "A question for you.", url: "/session/s?ask=2", asks: "2" },
    ]);
    expect(notificationsFor(now, now, true)).toEqual([]);
  });

  it("is a failure, and work that is done only if wanted", () => {
    const before = session("s", { status: "running" });
    expect(notificationsFor(before, { ...before, status: "failed" }, false).map((each) => each.tag)).toEqual([
      "session-s",
    ]);
    expect(notificationsFor(before, { ...before, status: "completed" }, false)).toEqual([]);
    expect(notificationsFor(before, { ...before, status: "completed" }, true)).toHaveLength(1);
  });

  it("is nothing about a session that was put away, or that was done when it was first seen", () => {
    expect(
      notificationsFor(undefined, session("s", { archived: true, interactions: [request("1", 1)] }), true),
    ).toEqual([]);
    expect(notificationsFor(undefined, session("s", { status: "failed" }), true)).toEqual([]);
  });
});

describe("the title of the tab", () => {
  it("says how many wait and where one is", () => {
    expect(pageTitle(2, "fix it")).toBe("(2) fix it · bobstay");
    expect(pageTitle(2, "")).toBe("(2) bobstay");
    expect(pageTitle(0, "fix it")).toBe("fix it · bobstay");
    expect(pageTitle(0, "")).toBe("bobstay");
  });
});
