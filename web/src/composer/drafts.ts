/** What somebody has begun to write to each session: kept in this browser at once, on the server soon after. */
import { useSyncExternalStore } from "react";
import { api, said } from "@/api/client";
import type { ImagePart } from "@/api/types";

/** A long text that was pasted: beside the words, not among them (FM-26). */
export interface Pasted {
  id: string;
  text: string;
}

export interface Picture {
  id: string;
  name: string;
  size: number;
  part: ImagePart;
}

export interface Draft {
  text: string;
  pasted: readonly Pasted[];
  /** Not kept over a reload: a browser's storage is too small for them. */
  pictures: readonly Picture[];
  /** Grows when the words were changed by something other than typing. */
  revision: number;
}

interface Kept {
  text: string;
  pasted: readonly Pasted[];
  /** What the server was last known to have: if the words are the same, its newer ones are taken. */
  synced: string;
}

const NOTHING: Draft = { text: "", pasted: [], pictures: [], revision: 0 };
const SAVE_MS = 1500;
/** Longer texts are not written down with every letter. */
const LONG = 50_000;

const drafts = new Map<string, Draft>();
const synced = new Map<string, string>();
const listeners = new Map<string, Set<() => void>>();
const timers = new Map<string, number>();

function place(id: string): string {
  return `bobstay.draft.${id}`;
}

/** The draft of a session, as this browser has it. */
export function draftOf(id: string): Draft {
  const held = drafts.get(id);
  if (held) return held;
  const kept = read(id);
  const draft = { ...NOTHING, text: kept?.text ?? "", pasted: kept?.pasted ?? [] };
  drafts.set(id, draft);
  synced.set(id, kept?.synced ?? "");
  return draft;
}

/** Take what this person wrote on another device, where this browser has nothing newer. */
export async function fetchDraft(id: string): Promise<void> {
  try {
    const draft = await said(api.GET("/sessions/{id}/draft", { params: { path: { id } } }));
    received(id, draft.text);
  } catch {
    // the browser's own copy is good enough; it is sent with the next word
  }
}

/** The server has `saved`. */
export function received(id: string, saved: string): void {
  const { text } = draftOf(id);
  const writtenHere = text !== synced.get(id);
  synced.set(id, saved);
  if (text === saved) return;
  if (writtenHere) later(id);
  else put(id, { text: saved });
}

/** Words as they are typed. */
export function typed(id: string, text: string): void {
  change(id, { text });
}

/** Anything else: whoever shows the draft is told. */
export function put(id: string, next: Partial<Omit<Draft, "revision">>): void {
  change(id, next, 1);
}

export function isEmpty(draft: Draft): boolean {
  return !draft.text.trim() && draft.pasted.length === 0 && draft.pictures.length === 0;
}

/** All the words of a draft, in the order they are sent. */
export function wordsOf(draft: Draft): string {
  return [draft.text.trim(), ...draft.pasted.map((each) => each.text)].filter(Boolean).join("\n\n");
}

/** Something of a draft, compared by identity. */
export function useDraft<T>(id: string, pick: (draft: Draft) => T): T {
  return useSyncExternalStore(
    (listener) => {
      const all = listeners.get(id) ?? new Set();
      listeners.set(id, all.add(listener));
      return () => all.delete(listener);
    },
    () => pick(draftOf(id)),
  );
}

function change(id: string, next: Partial<Draft>, revised = 0): void {
  const before = draftOf(id);
  const draft = { ...before, ...next, revision: before.revision + revised };
  drafts.set(id, draft);
  if (draft.text.length < LONG || revised) write(id, draft);
  later(id);
  for (const listener of listeners.get(id) ?? []) listener();
}

function read(id: string): Kept | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place(id)) ?? "null");
    return isKept(kept) ? kept : null;
  } catch {
    return null;
  }
}

function isKept(kept: unknown): kept is Kept {
  const { text, pasted, synced: known } = (kept ?? {}) as Partial<Kept>;
  return typeof text === "string" && typeof known === "string" && Array.isArray(pasted);
}

function write(id: string, draft: Draft): void {
  const { text, pasted } = draft;
  const kept: Kept = { text, pasted, synced: synced.get(id) ?? "" };
  try {
    if (!text && pasted.length === 0 && !kept.synced) localStorage.removeItem(place(id));
    else localStorage.setItem(place(id), JSON.stringify(kept));
  } catch {
    // no room, or none allowed: the server gets the words soon
  }
}

function later(id: string): void {
  window.clearTimeout(timers.get(id));
  timers.set(
    id,
    window.setTimeout(() => void save(id), SAVE_MS),
  );
}

/** Quietly: what cannot be stored there is still here, and nobody is to be disturbed while writing. */
async function save(id: string): Promise<void> {
  const draft = draftOf(id);
  write(id, draft);
  if (draft.text.length > LONG || draft.text === synced.get(id)) return;
  try {
    await api.PUT("/sessions/{id}/draft", { params: { path: { id } }, body: { text: draft.text } });
    known(id, draft.text);
  } catch {
    // it is tried again with the next word
  }
}

/** The server has these words. */
function known(id: string, text: string): void {
  synced.set(id, text);
  write(id, draftOf(id));
}
