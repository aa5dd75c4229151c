import { beforeEach, describe, expect, it } from "vitest";
import { endText, Pty, type PtyState } from "./pty";

class FakeSocket {
  binaryType = "";
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  sent: (string | Uint8Array)[] = [];
  constructor(readonly url: string) {}
  send(data: string | Uint8Array) {
    this.sent.push(data);
  }
  close() {
    this.readyState = 3;
  }
  up() {
    this.readyState = 1;
    this.onopen?.();
  }
  say(words: object) {
    this.onmessage?.({ data: JSON.stringify(words) });
  }
  print(text: string) {
    const bytes = new TextEncoder().encode(text);
    this.onmessage?.({ data: bytes.buffer });
  }
  drop(reason = "") {
    this.readyState = 3;
    this.onclose?.({ code: 1006, reason });
  }
}

let sockets: FakeSocket[];
let later: (() => void)[];
let screen: { text: string; cleared: number; states: [PtyState, string][]; shown: (() => void)[] };
let pty: Pty;
const newest = () => sockets.at(-1) as FakeSocket;

beforeEach(() => {
  sockets = [];
  later = [];
  screen = { text: "", cleared: 0, states: [], shown: [] };
  pty = new Pty(
    "ws://here/pty",
    {
      write: (bytes, shown) => {
        screen.text += new TextDecoder().decode(bytes);
        screen.shown.push(shown);
      },
      clear: () => {
        screen.cleared += 1;
        screen.text = "";
      },
      onState: (state, words) => screen.states.push([state, words]),
    },
    {
      open: (url) => {
        sockets.push(new FakeSocket(url));
        return newest() as unknown as WebSocket;
      },
      later: (act) => later.push(act),
      cancel: () => undefined,
    },
  );
});

function begin(offset = 0) {
  pty.connect();
  newest().up();
  newest().say({ type: "hello", epoch: 1, offset });
}

describe("the connection to a terminal", () => {
  it("shows bytes and goes on from the byte it lost the connection at", () => {
    begin(100);
    newest().print("äb");
    newest().drop();
    expect(screen.states.at(-1)?.[0]).toBe("lost");
    later.at(-1)?.();
    expect(newest().url).toBe("ws://here/pty?epoch=1&offset=103");
    newest().up();
    newest().say({ type: "hello", epoch: 1, offset: 103 });
    newest().print("c");
    expect(screen.text).toBe("äbc");
    expect(screen.cleared).toBe(0);
  });

  it("clears the screen when told to, or when the terminal was begun anew", () => {
    begin();
    newest().print("old");
    newest().say({ type: "reset", epoch: 2, offset: 0, reason: "restarted" });
    newest().print("new");
    expect(screen.text).toBe("new");
    newest().drop();
    later.at(-1)?.();
    newest().up();
    newest().say({ type: "hello", epoch: 3, offset: 0 });
    expect(screen.text).toBe("");
  });

  it("says what was shown only when it is on the screen, and never for another epoch", () => {
    begin();
    const socket = newest();
    socket.print("x".repeat(64 * 1024));
    expect(socket.sent).toEqual([]);
    screen.shown.at(-1)?.();
    expect(JSON.parse(String(socket.sent.at(-1)))).toEqual({ type: "ack", epoch: 1, offset: 64 * 1024 });
    socket.print("x".repeat(64 * 1024));
    socket.say({ type: "reset", epoch: 2, offset: 0, reason: "restarted" });
    screen.shown.at(-1)?.();
    expect(socket.sent).toHaveLength(1);
  });

  it("tells the size once, and again on every new connection", () => {
    pty.resize(80, 24);
    begin();
    pty.resize(80, 24);
    expect(newest().sent).toEqual(['{"type":"resize","cols":80,"rows":24}']);
    newest().drop();
    later.at(-1)?.();
    newest().up();
    expect(newest().sent).toEqual(['{"type":"resize","cols":80,"rows":24}']);
  });

  it("sends what is typed as bytes, and nothing after the end", () => {
    begin();
    pty.type("ä");
    pty.typeBytes("\x1b[M\xff");
    expect(newest().sent.map((each) => [...(each as Uint8Array)])).toEqual([
      [195, 164],
      [27, 91, 77, 255],
    ]);
    newest().say({ type: "exit", epoch: 1, code: 3, signal: "", why: "exit" });
    pty.type("b");
    expect(newest().sent).toHaveLength(2);
    expect(screen.states.at(-1)).toEqual(["ended", "Exited with code 3."]);
    newest().drop();
    expect(later).toHaveLength(0);
  });

  it("keeps what is typed before the terminal is there, and nothing that is typed while it is lost", () => {
    pty.connect();
    pty.type("a");
    newest().up();
    expect(newest().sent.map((each) => [...(each as Uint8Array)])).toEqual([[97]]);
    newest().say({ type: "hello", epoch: 1, offset: 0 });
    newest().drop();
    pty.type("b");
    later.at(-1)?.();
    newest().up();
    expect(newest().sent).toEqual([]);
  });

  it("gives up where it was never let in", () => {
    pty.connect();
    newest().drop();
    later.at(-1)?.();
    newest().drop();
    later.at(-1)?.();
    newest().drop();
    expect(screen.states.at(-1)?.[0]).toBe("refused");
    expect(later).toHaveLength(2);
  });

  it("does not come back when its key was revoked or it was left", () => {
    begin();
    newest().drop("revoked");
    expect(screen.states.at(-1)?.[0]).toBe("refused");
    begin();
    const left = newest();
    pty.close();
    left.drop();
    expect(later).toHaveLength(0);
  });

  it("bears words that are none", () => {
    begin();
    newest().onmessage?.({ data: "{" });
    newest().onmessage?.({ data: "null" });
    newest().say({ type: "error", code: "invalid", message: "Too wide." });
    expect(screen.states.at(-1)).toEqual(["open", "Too wide."]);
  });

  it("has words for every end", () => {
    expect(endText({ code: 0, signal: "", why: "exit" })).toBe("Ended.");
    expect(endText({ code: null, signal: "SIGKILL", why: "exit" })).toBe("Killed by SIGKILL.");
    expect(endText({ code: null, signal: "SIGHUP", why: "lost" })).toBe("Ended when the server stopped.");
    expect(endText({ code: null, signal: "", why: "stopped" })).toBe("Closed.");
  });
});
