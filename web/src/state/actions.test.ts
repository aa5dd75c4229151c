import { afterEach, expect, test, vi } from "vitest";
import { byId, session } from "@/state/session.fixture";
import { transcriptOf } from "@/stream/connection";
import { useToasts } from "@/ui/toast";
import { configure, send } from "./actions";
import { putSession, useApp } from "./app";

afterEach(() => vi.unstubAllGlobals());

function loseAnswers(meanwhile: (clientId: string) => void = () => undefined): string[] {
  const ids: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const body = (await request.json()) as { client_message_id: string };
    ids.push(body.client_message_id);
    meanwhile(body.client_message_id);
    throw new TypeError("network");
  });
  return ids;
}

test("words that are said again after an answer was lost keep their name, and so are heard once", async () => {
  const ids = loseAnswers();
  expect(await send("s", "Hello", [], "queue")).toBe(false);
  expect(await send("s", "Hello", [], "queue")).toBe(false);
  await send("s", "Other answer", [], "queue");
  await send("t", "Hello", [], "queue");
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
});

const store = (id: string, seq: number, client_id: string): void => {
  const event = { type: "prompted", id: "p", blocks: [], client_id };
  const entry = { seq, id: `e${seq}`, parent: "", at: 0, event, agent: "", parentCall: "" };
  transcriptOf(id).append([entry as never]);
};

test("words that are said a second time after they were heard are heard a second time", async () => {
  const ids = loseAnswers();
  await send("v", "continue", [], "queue");
  store("v", 1, ids[0] as string);
  await send("v", "continue", [], "queue");
  expect(ids[1]).not.toBe(ids[0]);
});

test("words that the stream has told of do not come back to the composer when the answer is lost", async () => {
  loseAnswers((clientId) => store("u", 1, clientId));
  expect(await send("u", "Hello", [], "queue")).toBe(true);
});

test("what was changed at once is as it was when the server refuses it, and why is said (S000-63)", async () => {
  useApp.setState({ sessions: byId(session("c", { title: "before" })) });
  const titleNow = () => useApp.getState().sessions.c?.title;
  const shown: (string | undefined)[] = [];
  vi.stubGlobal("fetch", async () => {
    shown.push(titleNow());
    return Response.json({ error: { code: "conflict", message: "The log is locked." } }, { status: 409 });
  });
  expect(await configure("c", { title: "after" })).toBeUndefined();
  expect(shown).toEqual(["after"]);
  expect(titleNow()).toBe("before");
  expect(useToasts.getState().toasts.at(-1)).toMatchObject({ message: "The log is locked.", error: true });
});

test("what the server says of a change counts, and what came meanwhile is not undone by a refusal (S000-63)", async () => {
  useApp.setState({ sessions: byId(session("d", { title: "before" })) });
  vi.stubGlobal("fetch", async () => Response.json(session("d", { title: "after, cut", seq: 2 })));
  await configure("d", { title: "after, too long" });
  expect(useApp.getState().sessions.d?.title).toBe("after, cut");
  vi.stubGlobal("fetch", async () => {
    putSession(session("d", { title: "by somebody else", seq: 3 }));
    throw new TypeError("network");
  });
  await configure("d", { title: "mine" });
  expect(useApp.getState().sessions.d?.title).toBe("by somebody else");
});
