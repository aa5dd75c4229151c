/** Tasks in their order, and what has to be written down when one moves. */
import type { TaskRow } from "@/api/types";

export function ordered(tasks: readonly TaskRow[]): TaskRow[] {
  return [...tasks].sort((a, b) => a.sort_order - b.sort_order || a.updated_at - b.updated_at);
}

/** The tasks whose number changes when one moves to another place. */
export function moved(tasks: readonly TaskRow[], id: string, to: number): TaskRow[] {
  const list = ordered(tasks);
  const from = list.findIndex((task) => task.id === id);
  const task = list[from];
  if (!task || to < 0 || to >= list.length || to === from) return [];
  list.splice(from, 1);
  list.splice(to, 0, task);
  return list.flatMap((each, index) => (each.sort_order === index ? [] : [{ ...each, sort_order: index }]));
}
