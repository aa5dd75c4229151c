import { beforeEach, describe, expect, test } from "vitest";
import type { Frame } from "./frames";
import { Socket, type SocketEnvironment } from "./socket";

/** A browser of few parts: time passes when the test says so. */
class Play implements SocketEnvironment {
  time = 0;
  sockets: FakeSocket[] = [];
  isAdmitted = true;
  #timers: { id: number; at: number; act: () => void }[] = [];
  #next = 1;

  connect = (): WebSocket => {
    const made = new FakeSocket();
    this.sockets.push(made);
    return made as unknown as WebSocket;
  };
  now = () => this.time;
  setTimer = (act: () => void, milliseconds: number) => {
    this.#timers.push({ id: this.#next, at: this.time + milliseconds, act });
    return this.#next++;
  };
  clearTimer = (timer: number) => {
    this.#timers = this.#timers.filter((each) => each.id !== timer);
  };
  random = () => 0.5;
  isAuthorized = async () => this.isAdmitted;

  pass(seconds: number): void {
    const end = this.time + seconds * 1000;
    for (;;) {
      const next = this.#timers.filter((each) => each.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.time = next.at;
      this.clearTimer(next.id);
      next.act();
    }
    this.time = end;
  }

  get last(): FakeSocket {
    return this.sockets.at(-1) as FakeSocket;
  }
}

class FakeSocket {
  readyState = 0;
  sent: Record<string, unknown>[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.readyState = 3;
  }
  opens(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  says(...frames: object[]): void {
    this.onmessage?.({ data: JSON.stringify(frames) });
  }
  dies(code = 1006): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

let world: Play;
let heard: Frame[];
let socket: Socket;

beforeEach(() => {
  world = new Play();
  heard = [];
  socket = new Socket(
    "ws://x",
    world,
    (frames) => heard.push(...frames),
    () => undefined,
  );
});

describe("the socket of a tab", () => {
  test("follows what it is told once it is open, and asks for short texts", () => {
    socket.subscribe("app", () => ({}));
    socket.connect();
    world.last.opens();
    expect(world.last.sent).toEqual([
      { type: "hello", protocol: 1, cut: 16_384 },
      { type: "subscribe", topic: "app" },
    ]);
    expect(socket.state).toBe("live");
  });

  test("comes back from where its owner stands then, not from where it began (FM-5)", () => {
    let seq = 3;
    socket.subscribe("session:a", () => ({ after: seq, epoch: "e" }));
    socket.connect();
    world.last.opens();
    seq = 1003;
    world.last.dies();
    world.pass(1.1);
    world.last.opens();
    expect(world.last.sent.at(-1)).toEqual({
      type: "subscribe",
      topic: "session:a",
      after: 1003,
      epoch: "e",
    });
  });

  test("takes silence of two and a half heartbeats for the end, though nobody closed (FM-4)", () => {
    socket.connect();
    world.last.opens();
    world.pass(30);
    world.last.says({ type: "server.heartbeat", data: {} });
    world.pass(37);
    expect(socket.state).toBe("live");
    world.pass(1);
    expect(socket.state).toBe("waiting");
  });

  test("keeps the times the server tells", () => {
    socket.connect();
    world.last.opens();
    world.last.says({ type: "server.hello", data: { server_id: "s", heartbeat: 1, silence: 2.5 } });
    world.pass(2.6);
    expect(socket.state).toBe("waiting");
  });

  test("waits longer each time, to half a minute (S004-42)", () => {
    socket.connect();
    const waits: number[] = [];
    for (let count = 0; count < 7; count += 1) {
      world.last.dies();
      waits.push((socket.nextTry - world.time) / 1000);
      world.pass(waits.at(-1) ?? 0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30]);
  });

  test("starts over with short waits after half a calm minute", () => {
    socket.connect();
    for (let count = 0; count < 4; count += 1) {
      world.last.dies();
      world.pass((socket.nextTry - world.time) / 1000);
    }
    world.last.opens();
    world.pass(31);
    world.last.dies();
    expect(socket.nextTry - world.time).toBe(1000);
  });

  test("gives up on a handshake that hangs (FM-17)", () => {
    socket.connect();
    world.pass(10.1);
    expect(socket.state).toBe("waiting");
    world.pass(1.1);
    expect(world.sockets).toHaveLength(2);
  });

  test("tries at once when the page is seen again (FM-18)", () => {
    socket.connect();
    world.last.dies();
    socket.wake();
    expect(world.sockets).toHaveLength(2);
  });

  test("without a network, asks a connection that looks alive, and says so if nobody answers", () => {
    socket.connect();
    world.last.opens();
    socket.offline();
    expect(world.last.sent.at(-1)).toEqual({ type: "ping", id: "offline" });
    expect(socket.state).toBe("live");
    world.pass(3.1);
    expect(socket.state).toBe("offline");
    socket.online();
    expect(world.sockets).toHaveLength(2);
  });

  test("stays with a server of this very machine, whatever the network does", () => {
    socket.connect();
    world.last.opens();
    socket.offline();
    world.last.says({ type: "pong", data: { id: "offline" } });
    world.pass(30);
    expect(socket.state).toBe("live");
  });

  test("after a sleep, asks a connection that looks alive whether it is (FM-18)", () => {
    socket.connect();
    world.last.opens();
    socket.wake();
    expect(world.last.sent.at(-1)).toEqual({ type: "ping", id: "wake" });
    world.pass(10.1);
    expect(socket.state).toBe("waiting");
  });

  test("stops trying when the door is closed for good, and says so", async () => {
    world.isAdmitted = false;
    socket.connect();
    world.last.dies();
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
    expect(socket.state).toBe("refused");
    world.pass(120);
    expect(world.sockets).toHaveLength(1);
  });

  test("a revoked device is told apart from a lost connection (FM-46)", () => {
    socket.connect();
    world.last.opens();
    world.last.dies(4001);
    expect(socket.state).toBe("refused");
  });

  test("what is no list of frames is dropped", () => {
    socket.connect();
    world.last.opens();
    for (const data of ["{", "null", "7", '"x"', new ArrayBuffer(4)]) world.last.onmessage?.({ data });
    expect(heard).toEqual([]);
    expect(socket.state).toBe("live");
  });

  test("an old connection that still speaks is not heard", () => {
    socket.connect();
    const old = world.last;
    old.opens();
    old.dies();
    world.pass(1.1);
    world.last.opens();
    old.says({ type: "server.heartbeat", data: {} });
    expect(heard).toEqual([]);
  });
});
