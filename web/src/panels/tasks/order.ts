/** Tasks in their order, what tells them apart, and what has to be written down when one moves. */
import type { Task, TaskRow } from "@/api/types";

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

/**
 * An agent's tasks have no names but their words, and words may repeat: then their order tells them apart. A task that
 * is put in before others leaves those what they are.
 */
export function named(tasks: readonly Task[]): { key: string; task: Task }[] {
  const met = new Map<string, number>();
  return tasks.map((task) => {
    const nth = (met.get(task.content) ?? 0) + 1;
    met.set(task.content, nth);
    return { key: `${nth}/${task.content}`, task };
  });
}
