import { beforeEach, describe, expect, it } from "vitest";
import type { ServerConfig, SessionView } from "@/api/types";
import {
  addToDraft,
  draftOf,
  isEmpty,
  mergeServerDraft,
  messageText,
  setDraftText,
  updateDraft,
} from "@/state/drafts";
import { bypassEnd, modeNow, permissionChoices, workflowChange } from "@/state/modes";
import type { Row } from "@/state/rows";
import { formatElapsed } from "./Clock";
import { commandTag, complete, matching, triggerAt } from "./completion";
import { readImages } from "./images";
import { refusalOf } from "./refusal";
import { contextUsage, statusText } from "./sessionStatus";
import { promptsOf } from "./usePromptHistory";

const config = {
  thresholds: {
    warning: { at: 0.6, text: "Approaching context limit (60%)" },
    critical: { at: 0.9, text: "Context nearly full (90%). Consider starting a new session." },
  },
  workflows: [
    { name: "chat", label: "Chat", description: "Talk.", permission_modes: [] },
    { name: "plan", label: "Plan", description: "Plan.", permission_modes: ["plan", "default"] },
  ],
  permission_modes: [
    { name: "default", label: "Ask", description: "Asks first.", needs_approve: false },
    { name: "acceptEdits", label: "Accept edits", description: "Edits files.", needs_approve: true },
  ],
} as unknown as ServerConfig;

function session(change: Partial<SessionView>): SessionView {
  const config = { workflow: "chat", inputs: "interactive", bypass_until: 0 };
  return {
    id: "s",
    status: "running",
    error: "",
    turns: 1,
    steps: 1,
    context: 0,
    context_limit: 200_000,
    permission_mode: "default",
    config,
    ...change,
  } as SessionView;
}

describe("the status of a session (S000-66)", () => {
  it("is told in these words", () => {
    const textOf = (status: SessionView["status"], error = "") => statusText(session({ status, error }));
    expect(textOf("running")).toBe("Agent is working...");
    expect(textOf("starting")).toBe("Agent is working...");
    expect(textOf("waiting_input")).toBe("Waiting for approval...");
    expect(textOf("completed")).toBe("Completed. Send a message to continue.");
    expect(textOf("interrupted")).toBe("Session interrupted. Send a message to resume.");
    expect(textOf("failed", "no key")).toBe("Failed: no key");
  });
});

describe("the filling of the context (S000-36, S000-65)", () => {
  it("warns at 60 and 90 percent, in the server's words", () => {
    const at = (context: number) => contextUsage(session({ context }), config);
    expect(at(119_999)).toMatchObject({ percent: 60, variant: "default", message: "" });
    expect(at(120_000)).toMatchObject({ variant: "warning", message: "Approaching context limit (60%)" });
    expect(at(180_000)?.variant).toBe("destructive");
    expect(at(180_000)?.message).toContain("Context nearly full (90%)");
    expect(at(76_543)?.numbers).toBe("76,543 / 200,000");
  });

  it("is hidden without data, and 0 is data", () => {
    expect(contextUsage(session({ turns: 0, steps: 0 }), config)).toBeNull();
    expect(contextUsage(session({ context: 0 }), config)?.percent).toBe(0);
    expect(contextUsage(session({ context_limit: 0 }), config)).toBeNull();
  });
});

describe("completion", () => {
  it("begins after a sign that begins a word", () => {
    expect(triggerAt("look at @src/ca", 15)).toEqual({ kind: "file", query: "src/ca", start: 8, end: 15 });
    expect(triggerAt("/rev", 4)).toEqual({ kind: "command", query: "rev", start: 0, end: 4 });
    expect(triggerAt("me@example.org", 14)).toBeNull();
    expect(triggerAt("a /b", 4)).toBeNull();
    expect(triggerAt("/usr/bin", 8)).toBeNull();
    expect(triggerAt(`${"x".repeat(200_000)} @a`, 200_003)?.query).toBe("a");
  });

  it("puts the choice in place and goes on in a directory", () => {
    const trigger = { kind: "file", query: "s", start: 3, end: 5 } as const;
    expect(complete("at @s now", trigger, "src/cart.py")).toEqual({
      text: "at @src/cart.py now",
      caret: 16,
    });
    expect(complete("at @s", trigger, "src/")).toEqual({ text: "at @src/", caret: 8 });
  });

  it("has those first that begin with the letters", () => {
    const commands = ["preview", "review", "compact"].map((name) => ({ name, description: "" }));
    expect(matching(commands, "re").map((each) => each.name)).toEqual(["review", "preview"]);
  });
});

describe("drafts", () => {
  beforeEach(() => localStorage.clear());

  /** What is in the field after the server said what it has. */
  function shownAfter(id: string, saved: string): string {
    mergeServerDraft(id, saved);
    return draftOf(id).text;
  }

  it("are kept in the browser at once, with pasted texts", () => {
    setDraftText("one", "half a thou");
    updateDraft("one", { pasted: [{ id: "p", text: "long" }] });
    const kept = JSON.parse(localStorage.getItem("bobstay.draft.one") ?? "{}");
    expect(kept).toEqual({ text: "half a thou", pasted: [{ id: "p", text: "long" }], synced: "" });
    expect(messageText(draftOf("one"))).toBe("half a thou\n\nlong");
  });

  it("come from the server where this browser has nothing newer", () => {
    expect(shownAfter("two", "from afar")).toBe("from afar");
    localStorage.setItem(
      "bobstay.draft.three",
      JSON.stringify({ text: "newer", pasted: [], synced: "older" }),
    );
    expect(shownAfter("three", "older")).toBe("newer");
    localStorage.setItem("bobstay.draft.four", JSON.stringify({ text: "same", pasted: [], synced: "same" }));
    expect(shownAfter("four", "changed on the phone")).toBe("changed on the phone");
    localStorage.setItem("bobstay.draft.sent", JSON.stringify({ text: "old", pasted: [], synced: "old" }));
    expect(shownAfter("sent", "")).toBe(""); // sent from the phone meanwhile
    localStorage.setItem("bobstay.draft.five", "{broken");
    expect(isEmpty(draftOf("five"))).toBe(true);
  });

  it("take words from elsewhere after those that are there", () => {
    addToDraft("six", "@src/cart.py");
    addToDraft("six", "line 42: why?");
    expect(draftOf("six").text).toBe("@src/cart.py line 42: why?");
    addToDraft("six", "two\nlines");
    expect(draftOf("six").text).toBe("@src/cart.py line 42: why?\n\ntwo\nlines");
    expect(draftOf("six").revision).toBe(3);
  });
});

describe("modes", () => {
  it("of a bypass whose time is over are none", () => {
    const bypass = session({ permission_mode: "bypassPermissions", config: { bypass_until: 100 } as never });
    expect(modeNow(bypass, 99_000)).toBe("bypassPermissions");
    expect(bypassEnd(bypass, 99_000)).toBe(100_000);
    expect(modeNow(bypass, 100_001)).toBe("default");
    expect(bypassEnd(session({}), 0)).toBe(0);
  });

  it("that a workflow forbids, or that ask less than one may allow, cannot be chosen", () => {
    const [ask, edits] = permissionChoices(config, "plan", true);
    expect(ask).toMatchObject({ disabled: false, label: "Ask", about: "Asks first." });
    expect(edits?.disabled).toBe(true);
    expect(permissionChoices(config, "chat", true).some((each) => each.disabled)).toBe(false);
    expect(permissionChoices(config, "chat", false).map((each) => each.disabled)).toEqual([false, true]);
  });
});

describe("another workflow", () => {
  it("brings the mode it begins in, where the present one is not for it", () => {
    expect(workflowChange(config, "plan", "acceptEdits")).toEqual({
      workflow: "plan",
      permission_mode: "plan",
    });
    expect(workflowChange(config, "plan", "default")).toEqual({ workflow: "plan" });
    expect(workflowChange(config, "chat", "acceptEdits")).toEqual({ workflow: "chat" });
  });
});

describe("pictures", () => {
  it("are taken if they are pictures and fit", async () => {
    const file = (name: string, type: string, size = 3) => new File([new Uint8Array(size)], name, { type });
    const read = await readImages(
      [file("a.png", "image/png"), file("b.svg", "image/svg+xml"), file("c.gif", "image/gif", 98)],
      0,
      100,
    );
    expect(read.images.map((each) => each.part)).toEqual([{ media_type: "image/png", data: "AAAA" }]);
    expect(read.refused).toHaveLength(2);
    expect(read.refused[0]).toContain("b.svg");
    expect(read.refused[1]).toContain("too large");
  });
});

describe("why nothing can be sent", () => {
  const me = { name: "ada", scopes: ["read", "operate"], client: "" } as never;
  it("is said, and words that are written are kept", () => {
    expect(refusalOf(session({}), me, "live").reason).toBe("");
    expect(refusalOf(session({}), me, "waiting")).toMatchObject({ canWrite: true });
    expect(refusalOf(session({}), me, "waiting").reason).toContain("Offline");
    expect(refusalOf(session({}), { scopes: ["read"] } as never, "live").canWrite).toBe(false);
    const locked = session({ config: { inputs: "locked" } as never });
    expect(refusalOf(locked, me, "live").reason).toContain("locked");
  });
});

describe("what was said before", () => {
  it("comes newest first, each once, and only what people said", () => {
    const row = (text: string, origin = "human") => ({ kind: "user", text, origin }) as Row;
    expect(promptsOf([row("a"), row("b"), row("hook", "hook"), row("a"), row(" ")])).toEqual(["a", "b"]);
  });
});

describe("a clock", () => {
  it("shows digits", () => {
    expect(formatElapsed(9_400)).toBe("9s");
    expect(formatElapsed(69_000)).toBe("1:09");
    expect(formatElapsed(3_669_000)).toBe("1:01:09");
  });
});

it("says of a command what kind it is, where that matters", () => {
  expect(commandTag({ kind: "builtin" })).toBe("without the model");
  expect(commandTag({ kind: "skill" })).toBe("skill");
  expect(commandTag({ kind: "command" })).toBe("");
});
