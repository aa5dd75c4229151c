/** Scroll positions and line heights by session, kept while the page is open. */
import type { Position } from "./anchor";

export interface SavedPosition {
  position: Position | null;
  measured: Map<string, number>;
  /** The row the keys act on. */
  current: string;
}

const MAX_SESSIONS = 30;
const kept = new Map<string, SavedPosition>();

export function savedPosition(sessionId: string): SavedPosition {
  const known = kept.get(sessionId) ?? { position: null, measured: new Map<string, number>(), current: "" };
  kept.delete(sessionId);
  kept.set(sessionId, known);
  for (const old of kept.keys()) {
    if (kept.size <= MAX_SESSIONS) break;
    kept.delete(old);
  }
  return known;
}
