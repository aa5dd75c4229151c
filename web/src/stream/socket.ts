/**
 * The tab's WebSocket: connects, detects silence, reconnects with backoff, and subscribes each topic again from its
 * current cursor.
 */
import { setServerClock } from "@/format/serverClock";
import type { Frame, Timing } from "./frames";

export type Connection = "connecting" | "live" | "waiting" | "offline" | "refused";

/** Where to subscribe a topic from; evaluated at each connection. */
export type Cursor = () => { after?: number | string; epoch?: string };

/** The browser APIs it uses, replaced in tests. */
export interface SocketEnvironment {
  connect(url: string): WebSocket;
  now(): number;
  setTimer(act: () => void, milliseconds: number): number;
  clearTimer(timer: number): void;
  random(): number;
  /** Whether the cookie is still valid; checked when a connection is refused. */
  isAuthorized(): Promise<boolean>;
}

const DEFAULT_TIMING: Timing = {
  server_id: "",
  heartbeat: 15,
  silence: 37.5,
  connect: 10,
  retry_first: 1,
  retry_most: 30,
  retry_jitter: 0.3,
  retry_calm: 30,
};
/** Seconds to wait for an answer once the device reports that it is offline. */
const PROBE_SECONDS = 3;
/** Texts longer than this are cut by the server; the rest is loaded on demand. */
export const MAX_TEXT = 16_384;

export class Socket {
  state: Connection = "connecting";
  timing: Timing = DEFAULT_TIMING;
  /** When the next attempt is due, by `environment.now()`; 0 if none is scheduled. */
  nextTry = 0;

  readonly #url: string;
  readonly #environment: SocketEnvironment;
  readonly #onFrames: (frames: Frame[]) => void;
  readonly #onChange: () => void;
  readonly #topics = new Map<string, Cursor>();
  #socket: WebSocket | null = null;
  #tries = 0;
  #retryTimer = 0;
  #watchdog = 0;
  #connectedAt = 0;
  #closed = false;
  #deviceOffline = false;

  constructor(
    url: string,
    environment: SocketEnvironment,
    onFrames: (frames: Frame[]) => void,
    onChange: () => void,
  ) {
    this.#url = url;
    this.#environment = environment;
    this.#onFrames = onFrames;
    this.#onChange = onChange;
  }

  subscribe(topic: string, cursor: Cursor): void {
    this.#topics.set(topic, cursor);
    this.#sendSubscribe(topic, cursor);
  }

  /** Subscribes again from the topic's current cursor. */
  resubscribe(topic: string): void {
    const cursor = this.#topics.get(topic);
    if (cursor) this.#sendSubscribe(topic, cursor);
  }

  unsubscribe(topic: string): void {
    if (this.#topics.delete(topic)) this.#send({ type: "unsubscribe", topic });
  }

  connect(): void {
    if (this.#closed || this.#socket) return;
    this.#environment.clearTimer(this.#retryTimer);
    this.nextTry = 0;
    this.#setState("connecting");
    const socket = this.#environment.connect(this.#url);
    this.#socket = socket;
    this.#connectedAt = this.#environment.now();
    this.#startWatchdog(this.timing.connect, socket);
    socket.onopen = () => this.#onOpen(socket);
    socket.onmessage = (message) => this.#onMessage(socket, message.data);
    socket.onclose = (event) => this.#onClose(socket, event.code);
    socket.onerror = () => undefined; // a close always follows
  }

  /** Connects at once, or checks the connection: the page is visible again, or the network is back. */
  wake(): void {
    if (this.#closed) return;
    if (this.#socket === null) {
      this.#tries = 0;
      this.connect();
    } else if (this.state === "live") {
      this.#send({ type: "ping", id: "wake" });
      this.#startWatchdog(this.timing.connect, this.#socket); // a connection that died during sleep does not answer
    }
  }

  /** The device reports no network. A local server may still be reachable: probe it. */
  offline(): void {
    this.#deviceOffline = true;
    if (this.#socket === null) this.#setState("offline");
    else if (this.state === "live") {
      this.#send({ type: "ping", id: "offline" });
      this.#startWatchdog(PROBE_SECONDS, this.#socket);
    }
  }

  online(): void {
    this.#deviceOffline = false;
    this.wake();
  }

  close(): void {
    this.#closed = true;
    this.#environment.clearTimer(this.#retryTimer);
    this.#environment.clearTimer(this.#watchdog);
    this.#socket?.close();
    this.#socket = null;
  }

  #onOpen(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#connectedAt = this.#environment.now();
    this.#send({ type: "hello", protocol: 1, cut: MAX_TEXT });
    for (const [topic, cursor] of this.#topics) this.#sendSubscribe(topic, cursor);
    this.#startWatchdog(this.timing.silence, socket);
    this.#deviceOffline = false;
    this.#setState("live");
  }

  #onMessage(socket: WebSocket, data: unknown): void {
    if (socket !== this.#socket) return;
    const frames = framesIn(data);
    for (const frame of frames) {
      if (frame.type !== "server.hello") continue;
      const { now, ...timing } = frame.data;
      this.timing = { ...DEFAULT_TIMING, ...timing };
      if (now) setServerClock(now);
    }
    this.#startWatchdog(this.timing.silence, socket);
    if (frames.length > 0) this.#onFrames(frames);
  }

  #onClose(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#environment.clearTimer(this.#watchdog);
    if (this.#closed) return;
    if (code === 4001) {
      this.#setState("refused");
      return;
    }
    const lived = this.#environment.now() - this.#connectedAt;
    if (this.state === "live" && lived >= this.timing.retry_calm * 1000) this.#tries = 0;
    if (this.state === "connecting") void this.#checkAuthorization();
    this.#scheduleRetry();
  }

  /** A refused WebSocket gives no reason: check over HTTP whether a sign-in is needed. */
  async #checkAuthorization(): Promise<void> {
    const admitted = await this.#environment.isAuthorized().catch(() => true);
    if (!admitted && this.#socket === null && !this.#closed) {
      this.#environment.clearTimer(this.#retryTimer);
      this.#setState("refused");
    }
  }

  #scheduleRetry(): void {
    const { retry_first, retry_most, retry_jitter } = this.timing;
    const seconds = Math.min(retry_first * 2 ** this.#tries, retry_most);
    const jitter = 1 + retry_jitter * (2 * this.#environment.random() - 1);
    this.#tries += 1;
    this.nextTry = this.#environment.now() + seconds * jitter * 1000;
    this.#retryTimer = this.#environment.setTimer(() => this.connect(), seconds * jitter * 1000);
    this.#setState(this.#deviceOffline ? "offline" : "waiting");
  }

  /** Watchdog: silence for longer than this closes the connection. */
  #startWatchdog(seconds: number, socket: WebSocket): void {
    this.#environment.clearTimer(this.#watchdog);
    this.#watchdog = this.#environment.setTimer(() => {
      if (socket !== this.#socket) return;
      socket.close();
      this.#onClose(socket, 1006); // a half-open connection may never fire onclose
    }, seconds * 1000);
  }

  #sendSubscribe(topic: string, cursor: Cursor): void {
    const { after, epoch } = cursor();
    this.#send({
      type: "subscribe",
      topic,
      ...(after === undefined ? {} : { after }),
      ...(epoch ? { epoch } : {}),
    });
  }

  #send(frame: object): void {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(frame));
  }

  #setState(state: Connection): void {
    this.state = state;
    this.#onChange();
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
