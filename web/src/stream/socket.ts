/**
 * The one WebSocket of a tab: it connects, notices silence, comes back with growing patience, and follows again what
 * was followed, each topic from where its owner says it stands (FM-4, FM-5, FM-17, FM-18; S004-42).
 */

import { setServerClock } from "@/words/now";
import type { Frame, Timing } from "./frames";

export type Connection = "connecting" | "live" | "waiting" | "offline" | "refused";

/** Where a topic is to be followed from, asked anew at each connection: never the place it stood when the page opened. */
export type Place = () => { after?: number | string; epoch?: string };

/** The parts of the browser that a test plays itself. */
export interface World {
  open(url: string): WebSocket;
  now(): number;
  later(act: () => void, milliseconds: number): number;
  cancel(timer: number): void;
  random(): number;
  /** Whether the cookie is still good; asked when a connection is refused. */
  admitted(): Promise<boolean>;
}

const FIRST: Timing = {
  server_id: "",
  heartbeat: 15,
  silence: 37.5,
  connect: 10,
  retry_first: 1,
  retry_most: 30,
  retry_jitter: 0.3,
  retry_calm: 30,
};
/** Seconds in which a server answers if it is there at all, once the device says it has no network. */
const PROBE = 3;
/** Characters of a text that a page wants at most; the rest is loaded when somebody looks at it. */
export const CUT = 16_384;

export class Socket {
  state: Connection = "connecting";
  timing: Timing = FIRST;
  /** When the next try is due, in the world's time; 0 while there is none. */
  nextTry = 0;

  readonly #url: string;
  readonly #world: World;
  readonly #take: (frames: Frame[]) => void;
  readonly #changed: () => void;
  readonly #topics = new Map<string, Place>();
  #socket: WebSocket | null = null;
  #tries = 0;
  #timer = 0;
  #watch = 0;
  #since = 0;
  #ended = false;
  #away = false;

  constructor(url: string, world: World, take: (frames: Frame[]) => void, changed: () => void) {
    this.#url = url;
    this.#world = world;
    this.#take = take;
    this.#changed = changed;
  }

  follow(topic: string, place: Place): void {
    this.#topics.set(topic, place);
    this.#subscribe(topic, place);
  }

  /** Follow again from where its owner now says it stands. */
  again(topic: string): void {
    const place = this.#topics.get(topic);
    if (place) this.#subscribe(topic, place);
  }

  leave(topic: string): void {
    if (this.#topics.delete(topic)) this.#say({ type: "unsubscribe", topic });
  }

  connect(): void {
    if (this.#ended || this.#socket) return;
    this.#world.cancel(this.#timer);
    this.nextTry = 0;
    this.#become("connecting");
    const socket = this.#world.open(this.#url);
    this.#socket = socket;
    this.#since = this.#world.now();
    this.#expect(this.timing.connect, socket);
    socket.onopen = () => this.#opened(socket);
    socket.onmessage = (message) => this.#heard(socket, message.data);
    socket.onclose = (event) => this.#lost(socket, event.code);
    socket.onerror = () => undefined; // a close always follows
  }

  /** Something happened after which trying at once makes sense: the page is seen again, the network is back. */
  wake(): void {
    if (this.#ended) return;
    if (this.#socket === null) {
      this.#tries = 0;
      this.connect();
    } else if (this.state === "live") {
      this.#say({ type: "ping", id: "wake" });
      this.#expect(this.timing.connect, this.#socket); // a connection that slept through does not answer
    }
  }

  /** The device says it has no network. A server on this very machine is there all the same: it is asked. */
  offline(): void {
    this.#away = true;
    if (this.#socket === null) this.#become("offline");
    else if (this.state === "live") {
      this.#say({ type: "ping", id: "offline" });
      this.#expect(PROBE, this.#socket);
    }
  }

  online(): void {
    this.#away = false;
    this.wake();
  }

  close(): void {
    this.#ended = true;
    this.#world.cancel(this.#timer);
    this.#world.cancel(this.#watch);
    this.#socket?.close();
    this.#socket = null;
  }

  #opened(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#since = this.#world.now();
    this.#say({ type: "hello", protocol: 1, cut: CUT });
    for (const [topic, place] of this.#topics) this.#subscribe(topic, place);
    this.#expect(this.timing.silence, socket);
    this.#away = false;
    this.#become("live");
  }

  #heard(socket: WebSocket, data: unknown): void {
    if (socket !== this.#socket) return;
    const frames = framesIn(data);
    for (const frame of frames) {
      if (frame.type !== "server.hello") continue;
      const { now, ...timing } = frame.data;
      this.timing = { ...FIRST, ...timing };
      if (now) setServerClock(now);
    }
    this.#expect(this.timing.silence, socket);
    if (frames.length > 0) this.#take(frames);
  }

  #lost(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#world.cancel(this.#watch);
    if (this.#ended) return;
    if (code === 4001) {
      this.#become("refused");
      return;
    }
    const lived = this.#world.now() - this.#since;
    if (this.state === "live" && lived >= this.timing.retry_calm * 1000) this.#tries = 0;
    if (this.state === "connecting") void this.#askWhy();
    this.#wait();
  }

  /** A refused connection tells a page nothing: whether one has to sign in again is asked by the ordinary way. */
  async #askWhy(): Promise<void> {
    const admitted = await this.#world.admitted().catch(() => true);
    if (!admitted && this.#socket === null && !this.#ended) {
      this.#world.cancel(this.#timer);
      this.#become("refused");
    }
  }

  #wait(): void {
    const { retry_first, retry_most, retry_jitter } = this.timing;
    const seconds = Math.min(retry_first * 2 ** this.#tries, retry_most);
    const jitter = 1 + retry_jitter * (2 * this.#world.random() - 1);
    this.#tries += 1;
    this.nextTry = this.#world.now() + seconds * jitter * 1000;
    this.#timer = this.#world.later(() => this.connect(), seconds * jitter * 1000);
    this.#become(this.#away ? "offline" : "waiting");
  }

  /** Silence for longer than this is the end of the connection, whatever the browser believes. */
  #expect(seconds: number, socket: WebSocket): void {
    this.#world.cancel(this.#watch);
    this.#watch = this.#world.later(() => {
      if (socket !== this.#socket) return;
      socket.close();
      this.#lost(socket, 1006); // a half-open connection may never say that it is closed
    }, seconds * 1000);
  }

  #subscribe(topic: string, place: Place): void {
    const { after, epoch } = place();
    this.#say({
      type: "subscribe",
      topic,
      ...(after === undefined ? {} : { after }),
      ...(epoch ? { epoch } : {}),
    });
  }

  #say(frame: object): void {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(frame));
  }

  #become(state: Connection): void {
    this.state = state;
    this.#changed();
  }
}

function framesIn(data: unknown): Frame[] {
  if (typeof data !== "string") return [];
  try {
    const found: unknown = JSON.parse(data);
    return Array.isArray(found) ? (found as Frame[]) : [];
  } catch {
    return [];
  }
}
