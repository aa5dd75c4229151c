import { afterEach, describe, expect, it, vi } from "vitest";
import type { QueuedView } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { MAX_TEXT } from "@/stream/socket";
import { loadQueued } from "./queuedMessage";

const queued: QueuedView = { id: "q", text: "the begin…", how: "queue", client_id: "" };

function entry(seq: number, text: string, image = false): Entry {
  const picture = { type: "image", media_type: "image/png", data: "AA" };
  const blocks = [{ type: "text", text }, ...(image ? [picture] : [])];
  const event = { type: "input_queued", id: "q", blocks };
  return { seq, id: `e${seq}`, parent: "", at: 0, event, agent: "", parentCall: "" } as unknown as Entry;
}

/** A server that has these entries, and cuts texts as it is asked to. */
function serve(all: Entry[]): void {
  vi.stubGlobal("fetch", async (request: Request) => {
    const query = new URL(request.url, "http://x").searchParams;
    const [before, limit, cut] = ["before", "limit", "cut"].map((name) => Number(query.get(name)));
    const page = all.filter((each) => each.seq < (before ?? 0)).slice(-(limit ?? 0));
    const events = page.map((each) => (cut ? short(each) : each));
    const cuts = events.flatMap(({ seq, cuts = [] }) => cuts.map((each) => ({ ...each, seq })));
    const headers = { "content-type": "application/json" };
    return new Response(JSON.stringify({ events, seq: all.length, cuts }), { headers });
  });
}

function short(whole: Entry): Entry {
  const copy = structuredClone(whole) as unknown as {
    event: { blocks: { text?: string }[] };
    cuts?: object[];
  };
  copy.event.blocks.forEach((block, index) => {
    const { text = "" } = block;
    if (text.length <= MAX_TEXT) return;
    block.text = text.slice(0, MAX_TEXT);
    copy.cuts = [{ path: ["blocks", index, "text"], tail: "", omitted: text.length - MAX_TEXT }];
  });
  return copy as unknown as Entry;
}

afterEach(() => vi.unstubAllGlobals());

describe("what is queued", () => {
  it("is whole in the log, in its newest words, with its pictures", async () => {
    const found = await loadQueued("s", [entry(1, "first"), entry(2, "second\n\nlines", true)], queued);
    expect(found).toEqual({ text: "second\n\nlines", images: [{ media_type: "image/png", data: "AA" }] });
  });

  it("is never sent again without its middle, though the stream cuts long texts", async () => {
    const long = entry(5, "word ".repeat(MAX_TEXT));
    serve([long, entry(6, "newer than it looked")]);
    expect((await loadQueued("s", [short(long)], queued)).text).toBe("word ".repeat(MAX_TEXT));
  });

  it("is looked for on the server where the page does not hold it", async () => {
    serve([entry(3, "all of it")]);
    const other = { ...entry(4, ""), event: { type: "turn_started", turn: 1 } } as unknown as Entry;
    expect((await loadQueued("s", [other], queued)).text).toBe("all of it");
    expect((await loadQueued("s", [], queued)).text).toBe("all of it");
  });

  it("is left alone where its words cannot be found", async () => {
    serve([]);
    await expect(loadQueued("s", [], queued)).rejects.toThrow("It stays in the queue");
  });
});
