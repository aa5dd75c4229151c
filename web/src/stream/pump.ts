/** Brings frames to where they belong, at most once per frame of the screen and never for long at a time. */

import type { SessionView, StreamFrame } from "@/api/types";
import type { AppState } from "@/state/app";
import { putSettled, useApp } from "@/state/app";
import type { Transcript } from "@/state/transcript";
import { type Entry, entryOfFrame, type Frame, isStored, type LiveFrame, type Synchronized } from "./frames";

/** Milliseconds of work in one go: what is left waits for the next frame of the screen. */
const BUDGET = 10;
const HIDDEN_MS = 200;

export interface Listening {
  transcript(id: string): Transcript | undefined;
  /** A piece is missing, or the cursor means nothing any more. */
  astray(id: string, reset: boolean): void;
  /** Everything of a topic has come. */
  synchronized(id: string): void;
  /** With this entry the context has grown as full as its `threshold` says. */
  crossed(frame: StreamFrame): void;
  /** Something that is no part of a transcript. */
  other(frame: LiveFrame): void;
}

export class Pump {
  readonly #queue: Frame[] = [];
  readonly #to: Listening;
  #place = 0;
  #due = false;

  constructor(to: Listening) {
    this.#to = to;
  }

  take = (frames: Frame[]): void => {
    for (const frame of frames) this.#queue.push(frame);
    this.#schedule();
  };

  /** With the next frame of the screen; a page that is hidden, or is about to be, has none: then by the clock. */
  #schedule(): void {
    if (this.#due) return;
    this.#due = true;
    let frame = 0;
    const timer = setTimeout(() => {
      cancelAnimationFrame(frame);
      this.#run();
    }, HIDDEN_MS);
    frame = requestAnimationFrame(() => {
      clearTimeout(timer);
      this.#run();
    });
  }

  #run(): void {
    this.#due = false;
    const end = performance.now() + BUDGET;
    const touched = new Set<Transcript>();
    const sessions: Record<string, SessionView | null> = {};
    let count = 0;
    while (this.#place < this.#queue.length) {
      const frame = this.#queue[this.#place++] as Frame;
      if (isStored(frame)) {
        this.#stored(frame.session_id, entryOfFrame(frame), touched);
        if (frame.threshold) this.#to.crossed(frame);
      } else this.#live(frame, touched, sessions);
      count += 1;
      if (count % 32 === 0 && performance.now() > end) break;
    }
    if (this.#place === this.#queue.length) {
      this.#queue.length = 0;
      this.#place = 0;
    } else this.#schedule();
    if (Object.keys(sessions).length > 0) changeSessions(sessions);
    for (const transcript of touched) transcript.tell();
  }

  #stored(id: string, entry: Entry, touched: Set<Transcript>): void {
    const transcript = this.#to.transcript(id);
    if (!transcript) return;
    transcript.take([entry]);
    touched.add(transcript);
  }

  #live(frame: LiveFrame, touched: Set<Transcript>, sessions: Record<string, SessionView | null>): void {
    const topic = "topic" in frame ? (frame.topic ?? "") : "";
    const id = topic.startsWith("session:") ? topic.slice(8) : "";
    const transcript = id ? this.#to.transcript(id) : undefined;
    switch (frame.type) {
      case "stream.synchronized":
        if (topic === "app") synchronizeApp(frame.data);
        if (frame.data.session) sessions[frame.data.session.id] = frame.data.session;
        if (transcript) {
          transcript.synchronize(frame.data.parts ?? [], frame.data.epoch ?? "");
          touched.add(transcript);
          this.#to.synchronized(id);
        }
        this.#to.other(frame);
        return;
      case "stream.reset":
        if (id) this.#to.astray(id, true);
        return;
      case "session.changed":
        sessions[frame.data.session.id] = frame.data.session;
        return;
      case "session.deleted":
        sessions[frame.data.id] = null;
        this.#to.other(frame);
        return;
      case "sessions.loading":
        useApp.setState({ loading: frame.data.left });
        return;
      case "interaction.resolved": {
        const { id: settled, outcome, by } = frame.data;
        putSettled(settled, { outcome, by });
        this.#to.other(frame);
        return;
      }
      case "part.began":
      case "part.delta":
      case "part.dropped":
      case "tool.output":
      case "model.requested":
      case "model.retrying":
        if (transcript) {
          if (!transcript.hear(frame)) this.#to.astray(id, false);
          touched.add(transcript);
        }
        return;
      default:
        this.#to.other(frame);
    }
  }
}

/** The list as it is now; sessions the page knows beside it (archived, or too old to be listed) stay. */
function synchronizeApp(data: Synchronized): void {
  const listed = data.sessions ?? [];
  const total = data.total ?? listed.length;
  const oldest = total > listed.length ? Math.min(...listed.map((each) => each.updated_at)) : 0;
  useApp.setState((state) => {
    const sessions: AppState["sessions"] = {};
    for (const known of Object.values(state.sessions))
      if (known.archived || known.updated_at < oldest) sessions[known.id] = known;
    for (const session of listed) sessions[session.id] = session;
    return { sessions, listed: true, total, loading: data.loading ?? 0 };
  });
}

function changeSessions(changed: Record<string, SessionView | null>): void {
  useApp.setState((state) => {
    const sessions = { ...state.sessions };
    for (const [id, session] of Object.entries(changed)) {
      if (session === null) delete sessions[id];
      else if ((sessions[id]?.seq ?? 0) <= session.seq) sessions[id] = session;
    }
    return { sessions };
  });
}
