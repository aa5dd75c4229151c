/** The tab's connection to the server and the transcripts it subscribes to. */
import { ApiError, api, errorMessage, unwrap } from "@/api/client";
import { putSession, useApp } from "@/state/app";
import { cacheTranscript, dropCached, loadCached } from "@/state/cache";
import { loadSnapshot, Transcript } from "@/state/transcript";
import { notifyThreshold } from "./contextWarning";
import type { LiveFrame } from "./frames";
import { Pump } from "./pump";
import { Socket, type SocketEnvironment } from "./socket";

/** Transcripts that stay in memory without subscribers. */
const MAX_TRANSCRIPTS = 5;
/** A cached transcript that is further behind is loaded again instead of caught up. */
const MAX_CATCH_UP = 1000;
const RETRY_MS = 3000;

const transcripts = new Map<string, Transcript>();
const watched = new Map<string, number>();
const listeners = new Set<(frame: LiveFrame) => void>();

const pump = new Pump({
  transcript: (id) => transcripts.get(id),
  onGap: (id, reset) => (reset ? void reload(id) : socket.resubscribe(topicOf(id))),
  onSynchronized: (id) => {
    const transcript = transcripts.get(id);
    if (transcript) void cacheTranscript(id, transcript.epoch, transcript.entries);
  },
  onThreshold: notifyThreshold,
  onFrame: (frame) => {
    if (frame.type === "session.deleted") markDeleted(frame.data.id);
    for (const listener of listeners) listener(frame);
  },
});

const environment: SocketEnvironment = {
  connect: (url) => new WebSocket(url),
  now: () => performance.now(),
  setTimer: (act, milliseconds) => window.setTimeout(act, milliseconds),
  clearTimer: (timer) => window.clearTimeout(timer),
  random: Math.random,
  isAuthorized: async () => {
    try {
      await unwrap(api.GET("/auth/me"));
      return true;
    } catch (error) {
      return !(error instanceof ApiError && (error.status === 401 || error.status === 403));
    }
  },
};

export const socket: Socket = new Socket(socketUrl(), environment, pump.push, () => {
  const { state, nextTry } = socket;
  useApp.setState(({ wasLive, auth }) => ({
    connection: state,
    wasLive: wasLive || state === "live",
    nextTry,
    auth: state === "refused" ? "out" : auth,
  }));
});

function socketUrl(): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/ws`;
}

function topicOf(id: string): string {
  return `session:${id}`;
}

export function connect(): void {
  socket.subscribe("app", () => ({}));
  socket.connect();
  const wake = () => {
    if (!document.hidden) socket.wake();
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("pageshow", wake);
  window.addEventListener("online", () => socket.online());
  window.addEventListener("offline", () => socket.offline());
  window.addEventListener("pagehide", () => {
    for (const each of transcripts.values()) void cacheTranscript(each.id, each.epoch, each.entries);
  });
}

/** Subscribes to frames that do not belong to a transcript, such as `diff.changed`. */
export function onFrame(listener: (frame: LiveFrame) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The transcript of a session. */
export function transcriptOf(id: string): Transcript {
  const known = transcripts.get(id);
  if (known) {
    transcripts.delete(id); // the newest last
    transcripts.set(id, known);
    return known;
  }
  const made = new Transcript(id);
  transcripts.set(id, made);
  for (const [old, transcript] of transcripts) {
    if (transcripts.size <= MAX_TRANSCRIPTS) break;
    if (!watched.has(old) && old !== id) {
      void cacheTranscript(old, transcript.epoch, transcript.entries);
      transcripts.delete(old);
    }
  }
  return made;
}

/** Subscribes to a session until the returned function is called. */
export function watch(id: string): () => void {
  watched.set(id, (watched.get(id) ?? 0) + 1);
  const transcript = transcriptOf(id);
  if (watched.get(id) === 1) void open(transcript);
  return () => {
    const left = (watched.get(id) ?? 1) - 1;
    if (left > 0) watched.set(id, left);
    else {
      watched.delete(id);
      socket.unsubscribe(topicOf(id));
      transcript.trim();
    }
  };
}

async function open(transcript: Transcript): Promise<void> {
  if (!watched.has(transcript.id) || transcript.state === "loading") return; // the pending load subscribes
  if (transcript.state === "empty") {
    transcript.state = "loading";
    const before = await loadCached(transcript.id);
    if (before && isRecent(transcript.id, before.entries.at(-1)?.seq ?? 0))
      transcript.load(before.entries, before.epoch);
    else if (!(await load(transcript))) return;
  }
  subscribe(transcript);
}

/** Whether the cached transcript is recent enough to catch up from. */
function isRecent(id: string, seq: number): boolean {
  const known = useApp.getState().sessions[id];
  return seq > 0 && (known === undefined || known.seq - seq < MAX_CATCH_UP);
}

function subscribe(transcript: Transcript): void {
  if (!watched.has(transcript.id)) return;
  socket.subscribe(topicOf(transcript.id), () => ({ after: transcript.fold.seq, epoch: transcript.epoch }));
}

/** The log was replaced: the old rows stay on the screen until the new ones are loaded. */
async function reload(id: string): Promise<void> {
  const transcript = transcripts.get(id);
  if (!transcript) return;
  await dropCached(id);
  transcript.epoch = "";
  if (await load(transcript, () => void reload(id))) socket.resubscribe(topicOf(id));
}

/** `again` runs after a temporary failure. */
async function load(transcript: Transcript, again = () => void open(transcript)): Promise<boolean> {
  try {
    const { session, entries, parts } = await loadSnapshot(transcript.id);
    putSession(session);
    transcript.load(entries, "", parts);
    return true;
  } catch (error) {
    const missing = error instanceof ApiError && error.status === 404;
    transcript.state = missing ? "gone" : transcript.entries.length > 0 ? "ready" : "empty";
    transcript.problem = errorMessage(error);
    transcript.notify();
    if (!missing) window.setTimeout(again, RETRY_MS);
    return false;
  }
}

function markDeleted(id: string): void {
  void dropCached(id);
  const transcript = transcripts.get(id);
  if (!transcript) return;
  transcript.state = "gone";
  transcript.problem = "This session was deleted.";
  transcript.notify();
}
