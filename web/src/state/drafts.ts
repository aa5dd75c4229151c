/** Drafts of messages by session: stored in the browser at once, on the server soon after. */
import { useSyncExternalStore } from "react";
import { api, unwrap } from "@/api/client";
import type { ImagePart } from "@/api/types";

/** A long pasted text, kept as an attachment. */
export interface Pasted {
  id: string;
  text: string;
}

export interface DraftImage {
  id: string;
  name: string;
  size: number;
  part: ImagePart;
}

export interface Draft {
  text: string;
  pasted: readonly Pasted[];
  /** Not stored: too large for the browser's storage. */
  images: readonly DraftImage[];
  /** Incremented when the text changes other than by typing. */
  revision: number;
}

interface StoredDraft {
  text: string;
  pasted: readonly Pasted[];
  /** The server's last known text: if the draft equals it, a newer text from the server replaces it. */
  synced: string;
}

const NOTHING: Draft = { text: "", pasted: [], images: [], revision: 0 };
const SAVE_MS = 1500;
/** Longer texts are not stored on every keystroke. */
const LONG = 50_000;

const drafts = new Map<string, Draft>();
const synced = new Map<string, string>();
const listeners = new Map<string, Set<() => void>>();
const timers = new Map<string, number>();

function storageKey(id: string): string {
  return `bobstay.draft.${id}`;
}

/** The draft of a session in this browser. */
export function draftOf(id: string): Draft {
  const held = drafts.get(id);
  if (held) return held;
  const kept = read(id);
  const draft = { ...NOTHING, text: kept?.text ?? "", pasted: kept?.pasted ?? [] };
  drafts.set(id, draft);
  synced.set(id, kept?.synced ?? "");
  return draft;
}

/** Loads the draft written on another device, unless this browser has a newer one. */
export async function fetchDraft(id: string): Promise<void> {
  try {
    const draft = await unwrap(api.GET("/sessions/{id}/draft", { params: { path: { id } } }));
    mergeServerDraft(id, draft.text);
  } catch {
    // the browser's copy is used; it is saved with the next change
  }
}

/** Merges the server's text `saved`. */
export function mergeServerDraft(id: string, saved: string): void {
  const { text } = draftOf(id);
  const writtenHere = text !== synced.get(id);
  synced.set(id, saved);
  if (text === saved) return;
  if (writtenHere) scheduleSave(id);
  else updateDraft(id, { text: saved });
}

/** Sets the text while typing. */
export function setDraftText(id: string, text: string): void {
  change(id, { text });
}

/** Any other change; the message field is updated. */
export function updateDraft(id: string, next: Partial<Omit<Draft, "revision">>): void {
  change(id, next, 1);
}

/** Adds text from elsewhere on the page: a comment, a file path. */
export function addToDraft(sessionId: string, text: string): void {
  const before = draftOf(sessionId).text;
  const gap = !before || /\s$/.test(before) ? "" : text.includes("\n") ? "\n\n" : " ";
  updateDraft(sessionId, { text: `${before}${gap}${text}` });
}

export function isEmpty(draft: Draft): boolean {
  return !draft.text.trim() && draft.pasted.length === 0 && draft.images.length === 0;
}

/** The message text of a draft, with its pasted texts. */
export function messageText(draft: Draft): string {
  return [draft.text.trim(), ...draft.pasted.map((each) => each.text)].filter(Boolean).join("\n\n");
}

/** A value of a draft, compared by identity. */
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
  scheduleSave(id);
  for (const listener of listeners.get(id) ?? []) listener();
}

function read(id: string): StoredDraft | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey(id)) ?? "null");
    return isStoredDraft(kept) ? kept : null;
  } catch {
    return null;
  }
}

function isStoredDraft(kept: unknown): kept is StoredDraft {
  const { text, pasted, synced: known } = (kept ?? {}) as Partial<StoredDraft>;
  return typeof text === "string" && typeof known === "string" && Array.isArray(pasted);
}

function write(id: string, draft: Draft): void {
  const { text, pasted } = draft;
  const kept: StoredDraft = { text, pasted, synced: synced.get(id) ?? "" };
  try {
    if (!text && pasted.length === 0 && !kept.synced) localStorage.removeItem(storageKey(id));
    else localStorage.setItem(storageKey(id), JSON.stringify(kept));
  } catch {
    // no space or no permission: the server gets the text soon
  }
}

function scheduleSave(id: string): void {
  window.clearTimeout(timers.get(id));
  timers.set(
    id,
    window.setTimeout(() => void save(id), SAVE_MS),
  );
}

/** Fails silently: the browser still has the draft. */
async function save(id: string): Promise<void> {
  const draft = draftOf(id);
  write(id, draft);
  if (draft.text.length > LONG || draft.text === synced.get(id)) return;
  try {
    await api.PUT("/sessions/{id}/draft", { params: { path: { id } }, body: { text: draft.text } });
    markSynced(id, draft.text);
  } catch {
    // retried with the next change
  }
}

/** Records the server's text. */
function markSynced(id: string, text: string): void {
  synced.set(id, text);
  write(id, draftOf(id));
}
