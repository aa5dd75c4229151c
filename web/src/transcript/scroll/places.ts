/** Where somebody read in each session, and how high its lines were: kept while the page is open. */
import type { Place } from "./held";

export interface Kept {
  place: Place | null;
  measured: Map<string, number>;
  /** The row the keys act on. */
  current: string;
}

const MOST = 30;
const kept = new Map<string, Kept>();

export function keptOf(sessionId: string): Kept {
  const known = kept.get(sessionId) ?? { place: null, measured: new Map<string, number>(), current: "" };
  kept.delete(sessionId);
  kept.set(sessionId, known);
  for (const old of kept.keys()) {
    if (kept.size <= MOST) break;
    kept.delete(old);
  }
  return known;
}
