/** Where the keyboard stands in the list of sessions, and which are chosen for something that is done to several. */
import { create } from "zustand";

interface Selection {
  /** The session the keys act on; empty: the one that is open. */
  cursor: string;
  chosen: ReadonlySet<string>;
}

export const useSelection = create<Selection>(() => ({ cursor: "", chosen: new Set<string>() }));

export function choose(ids: Iterable<string>): void {
  useSelection.setState({ chosen: new Set(ids) });
}

export function clearChoice(): void {
  if (useSelection.getState().chosen.size > 0) choose([]);
}

/** The id so many places from another one; at the ends it stays. From nowhere, the first or the last. */
export function stepFrom(ids: readonly string[], from: string, by: 1 | -1): string {
  const place = ids.indexOf(from);
  if (place < 0) return (by > 0 ? ids[0] : ids.at(-1)) ?? "";
  return ids[Math.min(ids.length - 1, Math.max(0, place + by))] ?? "";
}

/** Moves the cursor and takes the one it leaves and the one it comes to along. Going back gives the last one up. */
export function extend(ids: readonly string[], by: 1 | -1, from: string): void {
  const { chosen } = useSelection.getState();
  const start = from || ids[0] || "";
  const to = stepFrom(ids, start, by);
  const next = new Set(chosen);
  if (next.has(start) && next.has(to) && start !== to) next.delete(start);
  else next.add(start).add(to);
  useSelection.setState({ cursor: to, chosen: next });
}

/** All between the cursor and another one. */
export function chooseTo(ids: readonly string[], from: string, to: string): void {
  const [a, b] = [Math.max(0, ids.indexOf(from)), ids.indexOf(to)].sort((x, y) => x - y) as [number, number];
  useSelection.setState({ cursor: to, chosen: new Set(ids.slice(a, b + 1)) });
}
