/** The page's connection to the server and the transcripts it follows: one of each for the whole tab. */
import { ApiProblem, api, said, wordsOf } from "@/api/client";
import { putSession, useApp } from "@/state/app";
import { forget, keep, kept } from "@/state/cache";
import { loadSnapshot, Transcript } from "@/state/transcript";
import { tellCrossed } from "./crossed";
import type { LiveFrame } from "./frames";
import { Pump } from "./pump";
import { Socket, type World } from "./socket";

/** Transcripts that stay in memory after somebody looked at them. */
const MOST_OPEN = 5;
/** Entries after which what was kept is loaded anew rather than gone on from. */
const FAR = 1000;
const RETRY_MS = 3000;

const transcripts = new Map<string, Transcript>();
const watched = new Map<string, number>();
const listeners = new Set<(frame: LiveFrame) => void>();

const pump = new Pump({
  transcript: (id) => transcripts.get(id),
  astray: (id, reset) => (reset ? void reload(id) : socket.again(topicOf(id))),
  synchronized: (id) => {
    const transcript = transcripts.get(id);
    if (transcript) void keep(id, transcript.epoch, transcript.entries);
  },
  crossed: tellCrossed,
  other: (frame) => {
    if (frame.type === "session.deleted") gone(frame.data.id);
    for (const listener of listeners) listener(frame);
  },
});

const world: World = {
  open: (url) => new WebSocket(url),
  now: () => performance.now(),
  later: (act, milliseconds) => window.setTimeout(act, milliseconds),
  cancel: (timer) => window.clearTimeout(timer),
  random: Math.random,
  admitted: async () => {
    try {
      await said(api.GET("/auth/me"));
      return true;
    } catch (error) {
      return !(error instanceof ApiProblem && (error.status === 401 || error.status === 403));
    }
  },
};

export const socket: Socket = new Socket(address(), world, pump.take, () => {
  const { state, nextTry } = socket;
  useApp.setState(({ wasLive, entry }) => ({
    connection: state,
    wasLive: wasLive || state === "live",
    nextTry,
    entry: state === "refused" ? "out" : entry,
  }));
});

function address(): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/ws`;
}

function topicOf(id: string): string {
  return `session:${id}`;
}

export function connect(): void {
  socket.follow("app", () => ({}));
  socket.connect();
  const wake = () => {
    if (!document.hidden) socket.wake();
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("pageshow", wake);
  window.addEventListener("online", () => socket.online());
  window.addEventListener("offline", () => socket.offline());
  window.addEventListener("pagehide", () => {
    for (const each of transcripts.values()) void keep(each.id, each.epoch, each.entries);
  });
}

/** Frames that are no part of a transcript, such as `diff.changed`. */
export function onFrame(listener: (frame: LiveFrame) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The transcript of a session, followed while somebody looks at it. */
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
    if (transcripts.size <= MOST_OPEN) break;
    if (!watched.has(old) && old !== id) {
      void keep(old, transcript.epoch, transcript.entries);
      transcripts.delete(old);
    }
  }
  return made;
}

/** Follow a session until the function that is returned is called. */
export function watch(id: string): () => void {
  watched.set(id, (watched.get(id) ?? 0) + 1);
  const transcript = transcriptOf(id);
  if (watched.get(id) === 1) void begin(transcript);
  return () => {
    const left = (watched.get(id) ?? 1) - 1;
    if (left > 0) watched.set(id, left);
    else {
      watched.delete(id);
      socket.leave(topicOf(id));
      transcript.trim();
    }
  };
}

async function begin(transcript: Transcript): Promise<void> {
  if (!watched.has(transcript.id) || transcript.state === "loading") return; // who loads it follows it, too
  if (transcript.state === "empty") {
    transcript.state = "loading";
    const before = await kept(transcript.id);
    if (before && isNear(transcript.id, before.entries.at(-1)?.seq ?? 0))
      transcript.begin(before.entries, before.epoch);
    else if (!(await load(transcript))) return;
  }
  follow(transcript);
}

/** What was kept is worth going on from: not much happened since. */
function isNear(id: string, seq: number): boolean {
  const known = useApp.getState().sessions[id];
  return seq > 0 && (known === undefined || known.seq - seq < FAR);
}

function follow(transcript: Transcript): void {
  if (!watched.has(transcript.id)) return;
  socket.follow(topicOf(transcript.id), () => ({ after: transcript.fold.seq, epoch: transcript.epoch }));
}

/** What is held is of another log: it stays on the screen until the new one is there (FM-6, FM-19). */
async function reload(id: string): Promise<void> {
  const transcript = transcripts.get(id);
  if (!transcript) return;
  await forget(id);
  transcript.epoch = "";
  if (await load(transcript, () => void reload(id))) socket.again(topicOf(id));
}

/** `again`: what is tried after a failure that may pass. */
async function load(transcript: Transcript, again = () => void begin(transcript)): Promise<boolean> {
  try {
    const { session, entries, parts } = await loadSnapshot(transcript.id);
    putSession(session);
    transcript.begin(entries, "", parts);
    return true;
  } catch (error) {
    const missing = error instanceof ApiProblem && error.status === 404;
    transcript.state = missing ? "gone" : transcript.entries.length > 0 ? "ready" : "empty";
    transcript.problem = wordsOf(error);
    transcript.tell();
    if (!missing) window.setTimeout(again, RETRY_MS);
    return false;
  }
}

function gone(id: string): void {
  void forget(id);
  const transcript = transcripts.get(id);
  if (!transcript) return;
  transcript.state = "gone";
  transcript.problem = "This session was deleted.";
  transcript.tell();
}
