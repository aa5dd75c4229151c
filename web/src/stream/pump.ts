/** Dispatches frames to transcripts and the app state, once per animation frame and within a time budget. */
import type { SessionView, StreamFrame } from "@/api/types";
import type { AppState } from "@/state/app";
import { putSettled, useApp } from "@/state/app";
import type { Transcript } from "@/state/transcript";
import { type Entry, entryOfFrame, type Frame, isStored, type LiveFrame, type Synchronized } from "./frames";

/** Milliseconds of work per animation frame; the rest waits for the next one. */
const BUDGET = 10;
const HIDDEN_MS = 200;

export interface PumpListener {
  transcript(id: string): Transcript | undefined;
  /** A piece is missing (`reset` false), or the server dropped the cursor (`reset` true). */
  onGap(id: string, reset: boolean): void;
  /** Everything stored of a topic has arrived. */
  onSynchronized(id: string): void;
  /** With this entry the context passed `frame.threshold`. */
  onThreshold(frame: StreamFrame): void;
  /** A frame that does not belong to a transcript. */
  onFrame(frame: LiveFrame): void;
}

export class Pump {
  readonly #queue: Frame[] = [];
  readonly #listener: PumpListener;
  #position = 0;
  #scheduled = false;

  constructor(listener: PumpListener) {
    this.#listener = listener;
  }

  push = (frames: Frame[]): void => {
    for (const frame of frames) this.#queue.push(frame);
    this.#schedule();
  };

  /** On the next animation frame, or by a timer: hidden pages get none. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
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
    this.#scheduled = false;
    const end = performance.now() + BUDGET;
    const touched = new Set<Transcript>();
    const sessions: Record<string, SessionView | null> = {};
    let count = 0;
    while (this.#position < this.#queue.length) {
      const frame = this.#queue[this.#position++] as Frame;
      if (isStored(frame)) {
        this.#applyStored(frame.session_id, entryOfFrame(frame), touched);
        if (frame.threshold) this.#listener.onThreshold(frame);
      } else this.#applyLive(frame, touched, sessions);
      count += 1;
      if (count % 32 === 0 && performance.now() > end) break;
    }
    if (this.#position === this.#queue.length) {
      this.#queue.length = 0;
      this.#position = 0;
    } else this.#schedule();
    if (Object.keys(sessions).length > 0) changeSessions(sessions);
    for (const transcript of touched) transcript.notify();
  }

  #applyStored(id: string, entry: Entry, touched: Set<Transcript>): void {
    const transcript = this.#listener.transcript(id);
    if (!transcript) return;
    transcript.append([entry]);
    touched.add(transcript);
  }

  #applyLive(frame: LiveFrame, touched: Set<Transcript>, sessions: Record<string, SessionView | null>): void {
    const topic = "topic" in frame ? (frame.topic ?? "") : "";
    const id = topic.startsWith("session:") ? topic.slice(8) : "";
    const transcript = id ? this.#listener.transcript(id) : undefined;
    switch (frame.type) {
      case "stream.synchronized":
        if (topic === "app") synchronizeApp(frame.data);
        if (frame.data.session) sessions[frame.data.session.id] = frame.data.session;
        if (transcript) {
          transcript.synchronize(frame.data.parts ?? [], frame.data.epoch ?? "");
          touched.add(transcript);
          this.#listener.onSynchronized(id);
        }
        this.#listener.onFrame(frame);
        return;
      case "stream.reset":
        if (id) this.#listener.onGap(id, true);
        return;
      case "session.changed":
        sessions[frame.data.session.id] = frame.data.session;
        return;
      case "session.deleted":
        sessions[frame.data.id] = null;
        this.#listener.onFrame(frame);
        return;
      case "sessions.loading":
        useApp.setState({ loading: frame.data.left });
        return;
      case "interaction.resolved": {
        const { id: settled, outcome, by } = frame.data;
        putSettled(settled, { outcome, by });
        this.#listener.onFrame(frame);
        return;
      }
      case "part.began":
      case "part.delta":
      case "part.dropped":
      case "tool.output":
      case "model.requested":
      case "model.retrying":
        if (transcript) {
          if (!transcript.applyLive(frame)) this.#listener.onGap(id, false);
          touched.add(transcript);
        }
        return;
      default:
        this.#listener.onFrame(frame);
    }
  }
}

/** Replaces the list; known sessions that are archived or too old to be listed stay. */
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
