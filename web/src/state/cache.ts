/** Caches the last page of each transcript in IndexedDB, so that a known session appears at once. */
import { type IDBPDatabase, openDB } from "idb";
import type { Me, ServerConfig, SessionView } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { useApp } from "./app";
import { PAGE } from "./transcript";

interface CachedTranscript {
  id: string;
  epoch: string;
  entries: Entry[];
  at: number;
}

const MAX_TRANSCRIPTS = 50;
let opening: Promise<IDBPDatabase> | null = null;

function database(): Promise<IDBPDatabase> {
  opening ??= openDB("bobstay", 3, {
    upgrade(made, before, _now, change) {
      if (before < 1) made.createObjectStore("transcripts", { keyPath: "id" }).createIndex("at", "at");
      if (before < 2) made.createObjectStore("page");
      // Earlier versions cached cut texts without marking them as cut.
      if (before > 0 && before < 3) void change.objectStore("transcripts").clear();
    },
    blocking(_, __, event) {
      // A tab with a newer page needs to upgrade the database: this one goes on without a cache.
      (event.target as IDBDatabase | null)?.close();
    },
  });
  return opening;
}

/** What the page needs to render without a server. */
export interface CachedPage {
  me: Me;
  config: ServerConfig;
  sessions: SessionView[];
}

export async function cachePage(page: CachedPage): Promise<void> {
  try {
    await (await database()).put("page", page, "last");
  } catch {
    // no space or no permission: the page will not open offline
  }
}

export async function loadCachedPage(): Promise<CachedPage | undefined> {
  try {
    return (await (await database()).get("page", "last")) as CachedPage | undefined;
  } catch {
    return undefined;
  }
}

/** The cached transcript, if there is one. Storage errors count as a miss. */
export async function loadCached(id: string): Promise<CachedTranscript | undefined> {
  try {
    return (await (await database()).get("transcripts", id)) as CachedTranscript | undefined;
  } catch {
    return undefined;
  }
}

export async function cacheTranscript(id: string, epoch: string, entries: Entry[]): Promise<void> {
  // After a sign-out nothing is cached, not even by the final write of a closing page.
  if (!epoch || entries.length === 0 || useApp.getState().auth === "out") return;
  try {
    const store = await database();
    await store.put("transcripts", { id, epoch, entries: entries.slice(-PAGE), at: Date.now() });
    const keys = await store.getAllKeysFromIndex("transcripts", "at");
    for (const key of keys.slice(0, Math.max(0, keys.length - MAX_TRANSCRIPTS)))
      await store.delete("transcripts", key);
  } catch {
    // no space or no permission: the server has everything
  }
}

export async function dropCached(id: string): Promise<void> {
  try {
    await (await database()).delete("transcripts", id);
  } catch {
    // nothing was cached
  }
}

/** Clears everything at sign-out. */
export async function clearCache(): Promise<void> {
  try {
    const store = await database();
    await Promise.all([store.clear("transcripts"), store.clear("page")]);
  } catch {
    // nothing was cached
  }
}

const DRAFT_KEYS = /^bobstay\.(draft\.|comments$|new$)/;

/** Removes unsent drafts. Only for a sign-out the person asked for: any other may be temporary. */
export function clearDrafts(): void {
  for (const name of Object.keys(localStorage)) if (DRAFT_KEYS.test(name)) localStorage.removeItem(name);
}
