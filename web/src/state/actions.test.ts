import { afterEach, expect, test, vi } from "vitest";
import { transcriptOf } from "@/stream/live";
import { send } from "./actions";

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
  await send("s", "Something else", [], "queue");
  await send("t", "Hello", [], "queue");
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
});

const heard = (id: string, seq: number, client_id: string): void => {
  const event = { type: "prompted", id: "p", blocks: [], client_id };
  const entry = { seq, id: `e${seq}`, parent: "", at: 0, event, agent: "", parentCall: "" };
  transcriptOf(id).take([entry as never]);
};

test("words that are said a second time after they were heard are heard a second time", async () => {
  const ids = loseAnswers();
  await send("v", "continue", [], "queue");
  heard("v", 1, ids[0] as string);
  await send("v", "continue", [], "queue");
  expect(ids[1]).not.toBe(ids[0]);
});

test("words that the stream has told of do not come back to the composer when the answer is lost", async () => {
  loseAnswers((clientId) => heard("u", 1, clientId));
  expect(await send("u", "Hello", [], "queue")).toBe(true);
});
