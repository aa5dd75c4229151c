/** Keyboard cursor and selection in the session list. */
import { create } from "zustand";

interface Selection {
  /** The session the keys act on; empty: the open one. */
  cursor: string;
  chosen: ReadonlySet<string>;
}

export const useSelection = create<Selection>(() => ({ cursor: "", chosen: new Set<string>() }));

export function select(ids: Iterable<string>): void {
  useSelection.setState({ chosen: new Set(ids) });
}

export function clearSelection(): void {
  if (useSelection.getState().chosen.size > 0) select([]);
}

/** The next or previous id; stays at the ends. Without a start, the first or the last. */
export function stepFrom(ids: readonly string[], from: string, by: 1 | -1): string {
  const position = ids.indexOf(from);
  if (position < 0) return (by > 0 ? ids[0] : ids.at(-1)) ?? "";
  return ids[Math.min(ids.length - 1, Math.max(0, position + by))] ?? "";
}

/** Moves the cursor and selects both ends of the step. Going back deselects the last one. */
export function extendSelection(ids: readonly string[], by: 1 | -1, from: string): void {
  const { chosen } = useSelection.getState();
  const start = from || ids[0] || "";
  const to = stepFrom(ids, start, by);
  const next = new Set(chosen);
  if (next.has(start) && next.has(to) && start !== to) next.delete(start);
  else next.add(start).add(to);
  useSelection.setState({ cursor: to, chosen: next });
}

/** Selects everything between the cursor and another id. */
export function selectTo(ids: readonly string[], from: string, to: string): void {
  const [a, b] = [Math.max(0, ids.indexOf(from)), ids.indexOf(to)].sort((x, y) => x - y) as [number, number];
  useSelection.setState({ cursor: to, chosen: new Set(ids.slice(a, b + 1)) });
}
