/** The last page of each transcript, kept in the browser: a session that was seen before is on the screen at once (S004-28). */
import { type IDBPDatabase, openDB } from "idb";
import type { Me, ServerConfig, SessionView } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { useApp } from "./app";
import { PAGE } from "./transcript";

interface Kept {
  id: string;
  epoch: string;
  entries: Entry[];
  at: number;
}

const MOST = 50;
let opening: Promise<IDBPDatabase> | null = null;

function database(): Promise<IDBPDatabase> {
  opening ??= openDB("bobstay", 3, {
    upgrade(made, before, _now, change) {
      if (before < 1) made.createObjectStore("transcripts", { keyPath: "id" }).createIndex("at", "at");
      if (before < 2) made.createObjectStore("page");
      // Texts of earlier pages may lack their middle without saying so.
      if (before > 0 && before < 3) void change.objectStore("transcripts").clear();
    },
    blocking(_, __, event) {
      // A tab of a newer page wants another shape: this one goes on without keeping anything.
      (event.target as IDBDatabase | null)?.close();
    },
  });
  return opening;
}

/** What the page needs to be there without a server. */
export interface KeptPage {
  me: Me;
  config: ServerConfig;
  sessions: SessionView[];
}

export async function keepPage(page: KeptPage): Promise<void> {
  try {
    await (await database()).put("page", page, "last");
  } catch {
    // no room, or none allowed: then there is no page without a server
  }
}

export async function keptPage(): Promise<KeptPage | undefined> {
  try {
    return (await (await database()).get("page", "last")) as KeptPage | undefined;
  } catch {
    return undefined;
  }
}

/** What was kept, or nothing: a browser that keeps nothing is no reason to show nothing. */
export async function kept(id: string): Promise<Kept | undefined> {
  try {
    return (await (await database()).get("transcripts", id)) as Kept | undefined;
  } catch {
    return undefined;
  }
}

export async function keep(id: string, epoch: string, entries: Entry[]): Promise<void> {
  // Who was sent out leaves nothing behind, also not with the last word of a page that is closed.
  if (!epoch || entries.length === 0 || useApp.getState().entry === "out") return;
  try {
    const store = await database();
    await store.put("transcripts", { id, epoch, entries: entries.slice(-PAGE), at: Date.now() });
    const keys = await store.getAllKeysFromIndex("transcripts", "at");
    for (const key of keys.slice(0, Math.max(0, keys.length - MOST))) await store.delete("transcripts", key);
  } catch {
    // no room, or none allowed: the server has it all
  }
}

export async function forget(id: string): Promise<void> {
  try {
    await (await database()).delete("transcripts", id);
  } catch {
    // nothing was kept
  }
}

/** Everything goes when somebody signs out. */
export async function forgetAll(): Promise<void> {
  try {
    const store = await database();
    await Promise.all([store.clear("transcripts"), store.clear("page")]);
  } catch {
    // nothing was kept
  }
}

const WORDS = /^bobstay\.(draft\.|comments$|new$)/;

/** What somebody wrote and did not send goes only with a sign-out that was asked for: one that was not may be over soon. */
export function forgetWords(): void {
  for (const name of Object.keys(localStorage)) if (WORDS.test(name)) localStorage.removeItem(name);
}
