/** The agent's tasks. Moved items are animated. */
import { useLayoutEffect, useRef } from "react";
import type { Task } from "@/api/types";
import { withKeys } from "./order";

const MARKS: Record<Task["status"], { shape: string; word: string; colour: string }> = {
  pending: { shape: "◦", word: "to do", colour: "text-ink-3" },
  in_progress: { shape: "●", word: "doing", colour: "text-running" },
  completed: { shape: "✓", word: "done", colour: "text-done" },
};

export function AgentTasks({ tasks }: { tasks: readonly Task[] }) {
  const list = useRef<HTMLOListElement>(null);
  const positions = useRef(new Map<string, number>());
  useLayoutEffect(() => {
    const items = [...(list.current?.children ?? [])] as HTMLElement[];
    positions.current = slide(items, positions.current);
  });
  const open = new Set(tasks.filter((task) => task.status !== "completed").map((task) => task.id));
  return (
    <ol ref={list} className="m-0 list-none p-0">
      {withKeys(tasks).map(({ key, task }) => (
        <AgentTask key={key} name={key} task={task} note={noteOf(task, open)} />
      ))}
    </ol>
  );
}

/** Who works on a task, and which open ones it waits for. */
function noteOf(task: Task, open: ReadonlySet<string | undefined>): string {
  const waiting = (task.blocked_by ?? []).filter((id) => open.has(id)).map((id) => `#${id}`);
  return [task.owner, waiting.length > 0 && `waits for ${waiting.join(", ")}`].filter(Boolean).join(" · ");
}

function AgentTask({ name, task, note }: { name: string; task: Task; note: string }) {
  const { shape, word, colour } = MARKS[task.status] ?? MARKS.pending;
  const doing = task.status === "in_progress";
  const ink = doing ? "font-medium text-ink-1" : task.status === "completed" ? "text-ink-3" : "text-ink-2";
  return (
    <li data-task={name} className="flex min-h-7 items-baseline gap-2 px-3 py-1">
      <span className={`w-3.5 shrink-0 text-center ${colour}`} title={word}>
        <span aria-hidden="true">{shape}</span>
        <span className="sr-only">{word}</span>
      </span>
      <span className={`min-w-0 break-words ${ink}`}>
        {task.id && <span className="text-ink-3">#{task.id} </span>}
        {(doing && task.active_form) || task.content}
        {note && <span className="text-ink-3"> · {note}</span>}
      </span>
    </li>
  );
}

const TIMING: KeyframeAnimationOptions = { duration: 150, easing: "ease-out" };

/** Animates items from their previous position; new ones fade in. Returns the new positions. */
function slide(items: readonly HTMLElement[], before: ReadonlyMap<string, number>): Map<string, number> {
  const still = before.size === 0 || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const now = new Map<string, number>();
  for (const item of items) {
    const name = item.dataset.task ?? "";
    const top = item.offsetTop;
    const was = before.get(name);
    now.set(name, top);
    if (still || was === top) continue;
    if (was === undefined) item.animate([{ opacity: 0 }, { opacity: 1 }], TIMING);
    else item.animate([{ transform: `translateY(${was - top}px)` }, { transform: "none" }], TIMING);
  }
  return now;
}
