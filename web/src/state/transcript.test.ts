import { afterEach, expect, test, vi } from "vitest";
import type { Envelope } from "@/api/types";
import { type Entry, entryOfFrame, type Frame, isStored } from "@/stream/frames";
import { Fold } from "./fold";
import claude from "./recordings/claude.json";
import { Transcript } from "./transcript";

const ALL: Entry[] = (claude as unknown as Frame[]).filter(isStored).map(entryOfFrame);

/** The server's pages, over the page's own way of asking. */
function serve(size: number, fails = false): void {
  vi.stubGlobal("fetch", async (request: Request) => {
    if (fails) throw new TypeError("network");
    const before = Number(new URL(request.url, "http://x").searchParams.get("before"));
    const page = ALL.filter((entry) => entry.seq < before).slice(-size);
    const events = page.map(
      (entry) => ({ ...entry, at: entry.at / 1000, parent_call: entry.parentCall }) as unknown as Envelope,
    );
    return new Response(JSON.stringify({ events, seq: ALL.length }), {
      headers: { "content-type": "application/json" },
    });
  });
}

afterEach(() => vi.unstubAllGlobals());

function shown(fold: Fold): unknown {
  return { rows: [...fold.rows], items: fold.items, children: [...fold.children], seq: fold.seq };
}

test("pages loaded backwards give what the whole gives by the same ids (S003-35), also where one cuts a call from its result", async () => {
  const whole = new Fold();
  whole.apply(ALL);
  for (const size of [1, 3, 7, 100]) {
    serve(size);
    const transcript = new Transcript("t");
    transcript.load(ALL.slice(-size), "epoch");
    while (transcript.hasOlder) await transcript.loadOlder();
    expect(shown(transcript.fold)).toEqual(shown(whole));
  }
});

test("a page that cannot be loaded leaves what is there (FM-19)", async () => {
  serve(3, true);
  const transcript = new Transcript("t");
  transcript.load(ALL.slice(-3), "epoch");
  const before = transcript.fold;
  await expect(transcript.loadOlder()).rejects.toThrow("Can't reach the server");
  expect(transcript.fold).toBe(before);
  expect(transcript.hasOlder).toBe(true);
});

test("words that were sent are gone from those on their way when they are heard of", () => {
  const transcript = new Transcript("t");
  transcript.load(ALL.slice(0, 3), "epoch");
  transcript.sending = [{ clientId: "c1", text: "Hello" }];
  const event = {
    type: "prompted",
    id: "p",
    blocks: [{ type: "text", text: "Hello" }],
    client_id: "c1",
  } as Entry["event"];
  transcript.append([{ seq: 4, id: "e4", parent: "", at: 0, event, agent: "", parentCall: "" }]);
  expect(transcript.sending).toEqual([]);
});

test("only those who look at a row that changed are told", () => {
  const transcript = new Transcript("t");
  transcript.load(ALL, "epoch");
  transcript.notify();
  const [first, second] = [...transcript.fold.rows.keys()];
  const told: string[] = [];
  transcript.subscribeRow(first as string, () => told.push("first"));
  transcript.subscribeRow(second as string, () => told.push("second"));
  transcript.fold.put({ ...transcript.fold.rows.get(second as string) } as never);
  transcript.notify();
  expect(told).toEqual(["second"]);
});

const prompt = (seq: number, client_id: string): Entry => {
  const blocks = [{ type: "text", text: "Hello" }];
  const event = { type: "prompted", id: `p${seq}`, blocks, client_id } as Entry["event"];
  return { seq, id: `e${seq}`, parent: "", at: 0, event, agent: "", parentCall: "" };
};

test("words that were heard while nobody looked are not shown a second time as being sent", () => {
  const transcript = new Transcript("t");
  transcript.sending = [
    { clientId: "c1", text: "Hello" },
    { clientId: "c2", text: "Hello" },
  ];
  transcript.load([prompt(1, "c1")], "epoch");
  expect(transcript.sending.map((each) => each.clientId)).toEqual(["c2"]);
});

test("an older page that comes after the log was begun anew is not put before it", async () => {
  serve(3);
  const transcript = new Transcript("t");
  transcript.load(ALL.slice(6, 9), "epoch");
  const older = transcript.loadOlder();
  transcript.load(ALL.slice(2, 5), "another");
  await older;
  expect(transcript.entries.map((each) => each.seq)).toEqual(ALL.slice(2, 5).map((each) => each.seq));
});

test("what a running command has printed stays when an older page is loaded (FM-19)", async () => {
  serve(3);
  const done = ALL.findIndex((entry) => entry.event.type === "tool_done");
  const transcript = new Transcript("t");
  transcript.load(ALL.slice(done - 3, done), "epoch");
  const call = [...transcript.fold.unfinished][0] as string;
  transcript.applyLive({ type: "tool.output", topic: "", data: { call_id: call, offset: 0, text: "one\n" } });
  await transcript.loadOlder();
  expect(transcript.fold.tool(call)).toMatchObject({ tail: "one\n", printed: 4 });
  transcript.applyLive({ type: "tool.output", topic: "", data: { call_id: call, offset: 4, text: "two\n" } });
  expect(transcript.fold.tool(call)?.tail).toBe("one\ntwo\n");
});

test("of a long session nobody looks at only the end is held, and the rest can be had again", async () => {
  serve(100);
  const transcript = new Transcript("t");
  transcript.load([...ALL], "epoch");
  transcript.trim(5);
  expect(transcript.entries).toHaveLength(5);
  expect(transcript.fold.seq).toBe(ALL.at(-1)?.seq);
  while (transcript.hasOlder) await transcript.loadOlder();
  const whole = new Fold();
  whole.apply(ALL);
  expect(shown(transcript.fold)).toEqual(shown(whole));
});
