/** One session's transcript: its entries, their fold, paging, and its subscribers. */
import { api, unwrap } from "@/api/client";
import type { SessionView } from "@/api/types";
import { type Entry, entriesOf, type LiveFrame, type Part } from "@/stream/frames";
import { MAX_TEXT } from "@/stream/socket";
import { Fold } from "./fold";
import type { Row } from "./rows";

export const PAGE = 300;
/** Entries kept of a session without subscribers; older ones are loaded on demand. */
const MAX_ENTRIES = 4000;

type Listener = () => void;

/** A message that was sent and has not come back on the stream. */
export interface Sending {
  clientId: string;
  text: string;
}

export class Transcript {
  readonly id: string;
  fold = new Fold();
  entries: Entry[] = [];
  epoch = "";
  /** The server has entries before the first one here. */
  hasOlder = false;
  state: "empty" | "loading" | "ready" | "gone" = "empty";
  problem = "";
  sending: Sending[] = [];
  /** Incremented with every change of anything but a single row. */
  version = 0;

  readonly #rowListeners = new Map<string, Set<Listener>>();
  readonly #listeners = new Set<Listener>();
  #loadingOlder: Promise<void> | null = null;

  constructor(id: string) {
    this.id = id;
  }

  /** Loads cached entries, or those of the server. */
  load(entries: Entry[], epoch: string, parts: Part[] = []): void {
    const fold = new Fold();
    fold.apply(entries);
    fold.synchronize(parts);
    this.fold = fold;
    this.entries = entries;
    this.epoch = epoch || this.epoch;
    this.hasOlder = (entries[0]?.seq ?? 1) > 1;
    this.state = "ready";
    this.problem = "";
    this.#confirmSent(entries);
    this.#notifyAll();
  }

  append(entries: Entry[]): void {
    for (const entry of entries) if (entry.seq > (this.entries.at(-1)?.seq ?? 0)) this.entries.push(entry);
    this.fold.apply(entries);
    this.#confirmSent(entries);
  }

  /** Searches all entries: for the rare case that it is unknown whether a message arrived. */
  hasReceived(clientId: string): boolean {
    return this.entries.some((entry) => isEcho(entry, clientId));
  }

  #confirmSent(entries: Entry[]): void {
    if (this.sending.length > 0)
      this.sending = this.sending.filter((each) => !entries.some((entry) => isEcho(entry, each.clientId)));
  }

  /** Returns false if a piece is missing: the topic must be subscribed again. */
  applyLive(frame: LiveFrame): boolean {
    if (frame.type === "model.requested") this.fold.activity = { model: frame.data.model, retry: "" };
    else if (frame.type === "model.retrying")
      this.fold.activity = { model: "", retry: retryText(frame.data) };
    else if (frame.type.startsWith("part.") || frame.type === "tool.output")
      return this.fold.applyPart(frame.type, frame.data as Part);
    return true;
  }

  synchronize(parts: Part[], epoch: string): void {
    this.epoch = epoch;
    this.fold.synchronize(parts);
    this.state = "ready";
  }

  /** Drops old entries of a session without subscribers. */
  trim(most = MAX_ENTRIES): void {
    if (this.state === "ready" && this.entries.length > most)
      this.load(this.entries.slice(-most), this.epoch);
  }

  /** Loads the page before the first entry. The screen stays as it is, whatever happens. */
  loadOlder(most = PAGE): Promise<void> {
    this.#loadingOlder ??= this.#loadPage(most).finally(() => {
      this.#loadingOlder = null;
    });
    return this.#loadingOlder;
  }

  async #loadPage(most: number): Promise<void> {
    const first = this.entries[0]?.seq ?? 0;
    if (!this.hasOlder || first <= 1) return;
    const { epoch } = this;
    const page = await pageBefore(this.id, first, most);
    if (this.entries[0]?.seq !== first || this.epoch !== epoch) return; // reloaded meanwhile
    const before = page.filter((entry) => entry.seq < first);
    this.entries = [...before, ...this.entries];
    const fold = new Fold();
    fold.apply(this.entries);
    fold.carryLiveFrom(this.fold);
    this.fold = fold;
    this.hasOlder = before.length > 0 && (before[0]?.seq ?? 1) > 1;
    this.#notifyAll();
  }

  row(id: string): Row | undefined {
    return this.fold.rows.get(id);
  }

  subscribeRow(id: string, listener: Listener): () => void {
    const listeners = this.#rowListeners.get(id) ?? new Set();
    this.#rowListeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#rowListeners.delete(id);
    };
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies subscribers of what changed since the last call; once per frame. */
  notify(): void {
    const { changed } = this.fold;
    if (changed.size > 0) {
      this.fold.changed = new Set();
      for (const id of changed) for (const listener of this.#rowListeners.get(id) ?? []) listener();
    }
    this.version += 1;
    for (const listener of this.#listeners) listener();
  }

  #notifyAll(): void {
    for (const id of this.#rowListeners.keys()) this.fold.changed.add(id);
    this.notify();
  }
}

function isEcho(entry: Entry, clientId: string): boolean {
  const event = entry.event;
  return (event.type === "prompted" || event.type === "input_queued") && event.client_id === clientId;
}

function retryText(data: { attempt: number; attempts: number; delay: number; error: string }): string {
  return `Attempt ${data.attempt} of ${data.attempts} failed (${data.error}). Next in ${Math.ceil(data.delay)} s.`;
}

export async function pageBefore(id: string, before: number, limit = PAGE, cut = MAX_TEXT): Promise<Entry[]> {
  const query = { before, limit, cut };
  const page = await unwrap(api.GET("/sessions/{id}/events", { params: { path: { id }, query } }));
  return entriesOf(page);
}

export interface SessionSnapshot {
  session: SessionView;
  entries: Entry[];
  parts: Part[];
}

export async function loadSnapshot(id: string): Promise<SessionSnapshot> {
  const query = { limit: PAGE, cut: MAX_TEXT };
  const found = await unwrap(api.GET("/sessions/{id}/snapshot", { params: { path: { id }, query } }));
  return { session: found.session, entries: entriesOf(found), parts: found.parts as Part[] };
}
