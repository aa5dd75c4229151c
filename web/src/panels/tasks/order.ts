/** Order and keys of tasks, and the changes when one moves. */
import type { Task, TaskRow } from "@/api/types";

export function ordered(tasks: readonly TaskRow[]): TaskRow[] {
  return [...tasks].sort((a, b) => a.sort_order - b.sort_order || a.updated_at - b.updated_at);
}

/** The tasks whose position changes when one moves. */
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
 * An agent's tasks have no ids. Their text is the key, and repeated texts are numbered, so that inserting a task
 * does not change the keys of the others.
 */
export function withKeys(tasks: readonly Task[]): { key: string; task: Task }[] {
  const met = new Map<string, number>();
  return tasks.map((task) => {
    const nth = (met.get(task.content) ?? 0) + 1;
    met.set(task.content, nth);
    return { key: `${nth}/${task.content}`, task };
  });
}
