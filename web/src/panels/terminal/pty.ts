/**
 * WebSocket connection to a terminal: bytes in both directions with an offset. A lost connection resumes at the exact
 * byte; if that is not possible, it starts again on a cleared screen.
 */

export interface Ended {
  code: number | null;
  signal: string;
  why: string;
}

/** The screen it writes to. */
export interface Screen {
  /** `shown` must be called when the bytes are rendered, which acknowledges them. */
  write(bytes: Uint8Array, shown: () => void): void;
  clear(): void;
  /** Connection state, or the end of the terminal. */
  onState(state: PtyState, message: string): void;
}

export type PtyState = "connecting" | "open" | "lost" | "ended" | "refused";

/** The browser APIs it uses, replaced in tests. */
export interface PtyEnvironment {
  open(url: string): WebSocket;
  later(act: () => void, milliseconds: number): number;
  cancel(timer: number): void;
}

const OPEN = 1;
const FIRST_RETRY = 500;
const LONGEST_RETRY = 15_000;
/** Bytes between two acknowledgements: the server pauses output until it gets one. */
const ACK_EVERY = 64 * 1024;

export class Pty {
  readonly #url: string;
  readonly #screen: Screen;
  readonly #environment: PtyEnvironment;
  #socket: WebSocket | null = null;
  #epoch = 0;
  #offset = 0;
  #known = false;
  #unacknowledged = 0;
  #size: { cols: number; rows: number } | null = null;
  #early: Uint8Array<ArrayBuffer>[] = [];
  #wait = FIRST_RETRY;
  #timer = 0;
  #opened = false;
  #failures = 0;
  #closed = false;
  #ended = false;

  constructor(url: string, screen: Screen, world: PtyEnvironment) {
    this.#url = url;
    this.#screen = screen;
    this.#environment = world;
  }

  connect(): void {
    this.#closed = false;
    this.#opened = false;
    this.#screen.onState("connecting", "");
    const query = this.#known ? `?epoch=${this.#epoch}&offset=${this.#offset}` : "";
    const socket = this.#environment.open(this.#url + query);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onopen = () => {
      this.#opened = true;
      this.#failures = 0;
      if (this.#size) this.#send({ type: "resize", ...this.#size });
      for (const bytes of this.#early.splice(0)) socket.send(bytes);
    };
    socket.onmessage = ({ data }) => this.#onMessage(data);
    socket.onclose = (event) => this.#onClose(socket, event);
  }

  type(text: string): void {
    if (!this.#ended) this.#sendBytes(new TextEncoder().encode(text));
  }

  /** Binary input, such as mouse reports. */
  typeBytes(text: string): void {
    if (!this.#ended) this.#sendBytes(Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 255));
  }

  resize(cols: number, rows: number): void {
    if (this.#size?.cols === cols && this.#size.rows === rows) return;
    this.#size = { cols, rows };
    this.#send({ type: "resize", cols, rows });
  }

  /** Disconnects; the terminal keeps running. */
  close(): void {
    this.#closed = true;
    this.#environment.cancel(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  #onMessage(data: unknown): void {
    if (data instanceof ArrayBuffer) {
      this.#show(new Uint8Array(data));
      return;
    }
    const message = parseMessage(data);
    if (!message) return;
    if (message.type === "hello" || message.type === "reset") {
      if (message.type === "reset" || (this.#known && message.epoch !== this.#epoch)) this.#screen.clear();
      this.#epoch = message.epoch ?? 0;
      this.#offset = message.offset ?? 0;
      this.#known = true;
      this.#unacknowledged = 0;
      this.#ended = false;
      this.#wait = FIRST_RETRY;
      this.#screen.onState("open", "");
    } else if (message.type === "exit") {
      this.#ended = true;
      const { code = null, signal = "", why = "" } = message;
      this.#screen.onState("ended", endText({ code, signal, why }));
    } else if (message.type === "error") {
      this.#screen.onState("open", message.message ?? "");
    }
  }

  #show(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    const [epoch, offset] = [this.#epoch, this.#offset];
    this.#unacknowledged += bytes.length;
    const due = this.#unacknowledged >= ACK_EVERY;
    if (due) this.#unacknowledged = 0;
    this.#screen.write(bytes, () => {
      if (due && epoch === this.#epoch) this.#send({ type: "ack", epoch, offset });
    });
  }

  #onClose(socket: WebSocket, { code, reason }: { code: number; reason: string }): void {
    if (this.#closed || socket !== this.#socket) return;
    this.#socket = null;
    if (this.#ended) return;
    if (!this.#opened) this.#failures += 1;
    if (reason === "revoked" || (!this.#opened && this.#failures >= 3 && !this.#known)) {
      this.#screen.onState("refused", "The terminal is closed, or access was denied.");
      return;
    }
    this.#screen.onState("lost", `Connection lost (${code}). The terminal keeps running; reconnecting.`);
    this.#timer = this.#environment.later(() => this.connect(), this.#wait);
    this.#wait = Math.min(LONGEST_RETRY, this.#wait * 2);
  }

  #send(message: Record<string, unknown>): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** Input before the first connection is queued; input while disconnected is dropped: its echo would not be seen. */
  #sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(bytes);
    else if (!this.#known) this.#early.push(bytes);
  }
}

interface PtyMessage {
  type: string;
  epoch?: number;
  offset?: number;
  code?: number | null;
  signal?: string;
  why?: string;
  message?: string;
}

function parseMessage(data: unknown): PtyMessage | null {
  try {
    const message = JSON.parse(String(data)) as PtyMessage | null;
    return typeof message?.type === "string" ? message : null;
  } catch {
    return null;
  }
}

export function endText({ code, signal, why }: Ended): string {
  if (why === "lost") return "Ended when the server stopped.";
  if (signal) return `Killed by ${signal}.`;
  if (why === "stopped" || why === "killed") return "Closed.";
  return code ? `Exited with code ${code}.` : "Ended.";
}
