/**
 * The connection to one terminal: bytes both ways, and where in them we are. A connection that is lost is made again
 * from the very byte it was lost at; what cannot be gone on with is begun anew on a clean screen.
 */

export interface Ended {
  code: number | null;
  signal: string;
  why: string;
}

/** What a screen does. */
export interface Screen {
  /** `shown` is to be called when the bytes are on the screen: only then is more asked for. */
  write(bytes: Uint8Array, shown: () => void): void;
  clear(): void;
  /** The state of the connection, or how the terminal ended. */
  state(state: PtyState, words: string): void;
}

export type PtyState = "connecting" | "open" | "lost" | "ended" | "refused";

/** The parts of the browser that a test plays itself. */
export interface PtyWorld {
  open(url: string): WebSocket;
  later(act: () => void, milliseconds: number): number;
  cancel(timer: number): void;
}

const OPEN = 1;
const FIRST_RETRY = 500;
const LONGEST_RETRY = 15_000;
/** Bytes shown between two words about it: the server stops a flood until it hears of it. */
const ACK_EVERY = 64 * 1024;

export class Pty {
  readonly #url: string;
  readonly #screen: Screen;
  readonly #world: PtyWorld;
  #socket: WebSocket | null = null;
  #epoch = 0;
  #offset = 0;
  #known = false;
  #unsaid = 0;
  #size: { cols: number; rows: number } | null = null;
  #early: Uint8Array<ArrayBuffer>[] = [];
  #wait = FIRST_RETRY;
  #timer = 0;
  #opened = false;
  #failures = 0;
  #closed = false;
  #ended = false;

  constructor(url: string, screen: Screen, world: PtyWorld) {
    this.#url = url;
    this.#screen = screen;
    this.#world = world;
  }

  connect(): void {
    this.#closed = false;
    this.#opened = false;
    this.#screen.state("connecting", "");
    const place = this.#known ? `?epoch=${this.#epoch}&offset=${this.#offset}` : "";
    const socket = this.#world.open(this.#url + place);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onopen = () => {
      this.#opened = true;
      this.#failures = 0;
      if (this.#size) this.#say({ type: "resize", ...this.#size });
      for (const bytes of this.#early.splice(0)) socket.send(bytes);
    };
    socket.onmessage = ({ data }) => this.#heard(data);
    socket.onclose = (event) => this.#lost(socket, event);
  }

  type(text: string): void {
    if (!this.#ended) this.#send(new TextEncoder().encode(text));
  }

  /** Bytes that are no text, such as positions of a mouse. */
  typeBytes(text: string): void {
    if (!this.#ended) this.#send(Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 255));
  }

  resize(cols: number, rows: number): void {
    if (this.#size?.cols === cols && this.#size.rows === rows) return;
    this.#size = { cols, rows };
    this.#say({ type: "resize", cols, rows });
  }

  /** Not any more; the terminal itself goes on. */
  close(): void {
    this.#closed = true;
    this.#world.cancel(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  #heard(data: unknown): void {
    if (data instanceof ArrayBuffer) {
      this.#show(new Uint8Array(data));
      return;
    }
    const said = readWords(data);
    if (!said) return;
    if (said.type === "hello" || said.type === "reset") {
      if (said.type === "reset" || (this.#known && said.epoch !== this.#epoch)) this.#screen.clear();
      this.#epoch = said.epoch ?? 0;
      this.#offset = said.offset ?? 0;
      this.#known = true;
      this.#unsaid = 0;
      this.#ended = false;
      this.#wait = FIRST_RETRY;
      this.#screen.state("open", "");
    } else if (said.type === "exit") {
      this.#ended = true;
      const { code = null, signal = "", why = "" } = said;
      this.#screen.state("ended", endedWords({ code, signal, why }));
    } else if (said.type === "error") {
      this.#screen.state("open", said.message ?? "");
    }
  }

  #show(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    const [epoch, offset] = [this.#epoch, this.#offset];
    this.#unsaid += bytes.length;
    const due = this.#unsaid >= ACK_EVERY;
    if (due) this.#unsaid = 0;
    this.#screen.write(bytes, () => {
      if (due && epoch === this.#epoch) this.#say({ type: "ack", epoch, offset });
    });
  }

  #lost(socket: WebSocket, { code, reason }: { code: number; reason: string }): void {
    if (this.#closed || socket !== this.#socket) return;
    this.#socket = null;
    if (this.#ended) return;
    if (!this.#opened) this.#failures += 1;
    if (reason === "revoked" || (!this.#opened && this.#failures >= 3 && !this.#known)) {
      this.#screen.state("refused", "The server does not let this page use the terminal, or it is gone.");
      return;
    }
    this.#screen.state("lost", `The connection is lost (${code}). The terminal goes on; trying again.`);
    this.#timer = this.#world.later(() => this.connect(), this.#wait);
    this.#wait = Math.min(LONGEST_RETRY, this.#wait * 2);
  }

  #say(words: Record<string, unknown>): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(words));
  }

  /** What is typed before the terminal is there is kept for it; what is typed while it is lost is not: nobody sees it. */
  #send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(bytes);
    else if (!this.#known) this.#early.push(bytes);
  }
}

interface PtyWords {
  type: string;
  epoch?: number;
  offset?: number;
  code?: number | null;
  signal?: string;
  why?: string;
  message?: string;
}

function readWords(data: unknown): PtyWords | null {
  try {
    const said = JSON.parse(String(data)) as PtyWords | null;
    return typeof said?.type === "string" ? said : null;
  } catch {
    return null;
  }
}

export function endedWords({ code, signal, why }: Ended): string {
  if (why === "lost") return "Ended with the server.";
  if (signal) return `Ended by ${signal}.`;
  if (why === "stopped" || why === "killed") return "Closed.";
  return code ? `Ended with code ${code}.` : "Ended.";
}
