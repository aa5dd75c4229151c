/** One session's transcript as the page holds it: entries, their fold, how far back it reaches, and who looks on. */
import { api, said } from "@/api/client";
import type { SessionView } from "@/api/types";
import { type Entry, entriesOf, type LiveFrame, type Part } from "@/stream/frames";
import { CUT } from "@/stream/socket";
import { Fold } from "./fold";
import type { Row } from "./rows";

export const PAGE = 300;
/** Entries that are held of a session nobody looks at; what is before them is loaded when somebody goes there. */
const MOST_HELD = 4000;

type Listener = () => void;

/** Words that were sent and not yet heard of. */
export interface Sending {
  clientId: string;
  text: string;
}

export class Transcript {
  readonly id: string;
  fold = new Fold();
  entries: Entry[] = [];
  epoch = "";
  /** Entries before the first one held are on the server. */
  hasOlder = false;
  state: "empty" | "loading" | "ready" | "gone" = "empty";
  problem = "";
  sending: Sending[] = [];
  /** Grows with every change of anything but a single row. */
  version = 0;

  readonly #rows = new Map<string, Set<Listener>>();
  readonly #all = new Set<Listener>();
  #older: Promise<void> | null = null;

  constructor(id: string) {
    this.id = id;
  }

  /** Put in what was kept from an earlier visit, or what the server has. */
  begin(entries: Entry[], epoch: string, parts: Part[] = []): void {
    const fold = new Fold();
    fold.take(entries);
    fold.synchronize(parts);
    this.fold = fold;
    this.entries = entries;
    this.epoch = epoch || this.epoch;
    this.hasOlder = (entries[0]?.seq ?? 1) > 1;
    this.state = "ready";
    this.problem = "";
    this.#heard(entries);
    this.#tellAll();
  }

  take(entries: Entry[]): void {
    for (const entry of entries) if (entry.seq > (this.entries.at(-1)?.seq ?? 0)) this.entries.push(entry);
    this.fold.take(entries);
    this.#heard(entries);
  }

  /** Looks through all entries: for the rare moment in which it is not known whether words arrived. */
  hasHeard(clientId: string): boolean {
    return this.entries.some((entry) => heard(entry, clientId));
  }

  #heard(entries: Entry[]): void {
    if (this.sending.length > 0)
      this.sending = this.sending.filter((each) => !entries.some((entry) => heard(entry, each.clientId)));
  }

  /** Returns false if a piece is missing and the topic must be followed again. */
  hear(frame: LiveFrame): boolean {
    if (frame.type === "model.requested") this.fold.activity = { model: frame.data.model, retry: "" };
    else if (frame.type === "model.retrying")
      this.fold.activity = { model: "", retry: retryText(frame.data) };
    else if (frame.type.startsWith("part.") || frame.type === "tool.output")
      return this.fold.hear(frame.type, frame.data as Part);
    return true;
  }

  synchronize(parts: Part[], epoch: string): void {
    this.epoch = epoch;
    this.fold.synchronize(parts);
    this.state = "ready";
  }

  /** Nobody looks: of a session that went on for days only the end stays in memory. */
  trim(most = MOST_HELD): void {
    if (this.state === "ready" && this.entries.length > most)
      this.begin(this.entries.slice(-most), this.epoch);
  }

  /** Load the page before the first entry held. What is on the screen stays as it is, whatever happens (FM-19). */
  older(most = PAGE): Promise<void> {
    this.#older ??= this.#loadOlder(most).finally(() => {
      this.#older = null;
    });
    return this.#older;
  }

  async #loadOlder(most: number): Promise<void> {
    const first = this.entries[0]?.seq ?? 0;
    if (!this.hasOlder || first <= 1) return;
    const { epoch } = this;
    const page = await pageBefore(this.id, first, most);
    if (this.entries[0]?.seq !== first || this.epoch !== epoch) return; // begun anew meanwhile
    const before = page.filter((entry) => entry.seq < first);
    this.entries = [...before, ...this.entries];
    const fold = new Fold();
    fold.take(this.entries);
    fold.goOnFrom(this.fold);
    this.fold = fold;
    this.hasOlder = before.length > 0 && (before[0]?.seq ?? 1) > 1;
    this.#tellAll();
  }

  row(id: string): Row | undefined {
    return this.fold.rows.get(id);
  }

  onRow(id: string, listener: Listener): () => void {
    const listeners = this.#rows.get(id) ?? new Set();
    this.#rows.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#rows.delete(id);
    };
  }

  onAny(listener: Listener): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  /** Tell those who look on what changed since the last time; once per frame of the screen. */
  tell(): void {
    const { changed } = this.fold;
    if (changed.size > 0) {
      this.fold.changed = new Set();
      for (const id of changed) for (const listener of this.#rows.get(id) ?? []) listener();
    }
    this.version += 1;
    for (const listener of this.#all) listener();
  }

  #tellAll(): void {
    for (const id of this.#rows.keys()) this.fold.changed.add(id);
    this.tell();
  }
}

function heard(entry: Entry, clientId: string): boolean {
  const event = entry.event;
  return (event.type === "prompted" || event.type === "input_queued") && event.client_id === clientId;
}

function retryText(data: { attempt: number; attempts: number; delay: number; error: string }): string {
  return `Attempt ${data.attempt} of ${data.attempts} failed (${data.error}). Next in ${Math.ceil(data.delay)} s.`;
}

export async function pageBefore(id: string, before: number, limit = PAGE, cut = CUT): Promise<Entry[]> {
  const query = { before, limit, cut };
  const page = await said(api.GET("/sessions/{id}/events", { params: { path: { id }, query } }));
  return entriesOf(page);
}

export interface Loaded {
  session: SessionView;
  entries: Entry[];
  parts: Part[];
}

export async function loadSnapshot(id: string): Promise<Loaded> {
  const query = { limit: PAGE, cut: CUT };
  const found = await said(api.GET("/sessions/{id}/snapshot", { params: { path: { id }, query } }));
  return { session: found.session, entries: entriesOf(found), parts: found.parts as Part[] };
}
