import { beforeEach, describe, expect, it } from "vitest";
import { isUnread, markSeen, setUnreadBaseline, useSeen } from "./unread";

const done = (id: string, ended_at: number) => ({ id, status: "completed" as const, ended_at });
const unread = (session: Parameters<typeof isUnread>[0]) => isUnread(session, useSeen.getState());

beforeEach(() => useSeen.setState({ baseline: null, ended: {} }));

describe("a session is unread", () => {
  it("if it ended after the first visit and was not looked at since", () => {
    expect(unread(done("a", 5))).toBe(false);
    setUnreadBaseline([done("a", 5), done("b", 7)]);
    expect([unread(done("a", 5)), unread(done("b", 7)), unread(done("c", 8))]).toEqual([false, false, true]);
    markSeen(done("c", 8));
    expect(unread(done("c", 8))).toBe(false);
    expect(unread(done("c", 9))).toBe(true);
  });

  it("not while it works or waits", () => {
    setUnreadBaseline([]);
    expect(unread({ id: "a", status: "running", ended_at: 3 })).toBe(false);
    expect(unread({ id: "a", status: "waiting_input", ended_at: 3 })).toBe(false);
    expect(unread({ id: "a", status: "failed", ended_at: 3 })).toBe(true);
  });

  it("no more because an older ending is looked at again", () => {
    setUnreadBaseline([]);
    markSeen(done("a", 9));
    markSeen(done("a", 4));
    expect(unread(done("a", 9))).toBe(false);
  });

  it("and the first visit is the first only once", () => {
    setUnreadBaseline([done("a", 5)]);
    setUnreadBaseline([done("b", 9)]);
    expect(unread(done("b", 9))).toBe(true);
  });
});
