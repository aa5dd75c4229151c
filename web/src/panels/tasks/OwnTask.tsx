/** A person's task: complete, rename, move, delete. */
import { type DragEvent, type KeyboardEvent, useState } from "react";
import type { TaskRow } from "@/api/types";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { changeTask, moveTask, removeTask, type Tasks } from "./useTasks";

const DRAGGED = "application/x-bobstay-task";

export function OwnTask({ tasks, task, at }: { tasks: Tasks; task: TaskRow; at: number }) {
  const [title, setTitle] = useState<string | null>(null);
  const [over, setOver] = useState(false);
  const done = task.status === "completed";
  const keep = () => {
    const next = title?.trim();
    if (next && next !== task.title) void changeTask(tasks, task.id, { title: next });
    setTitle(null);
  };
  const key = (event: KeyboardEvent) => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    void moveTask(tasks, task.id, at + (event.key === "ArrowUp" ? -1 : 1));
  };
  const drop = (event: DragEvent) => {
    setOver(false);
    const id = event.dataTransfer.getData(DRAGGED);
    if (id) void moveTask(tasks, id, at);
  };
  return (
    <li
      draggable={title === null}
      onKeyDown={key}
      onDragStart={(event) => event.dataTransfer.setData(DRAGGED, task.id)}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes(DRAGGED)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={`group flex min-h-8 items-center gap-2 px-3 hover:bg-surface-2 max-md:min-h-11 ${over ? "shadow-[inset_0_2px_var(--accent)]" : ""}`}
    >
      <input
        type="checkbox"
        aria-label={task.title}
        checked={done}
        onChange={() => void changeTask(tasks, task.id, { status: done ? "pending" : "completed" })}
        className="size-3.5 shrink-0 accent-accent"
      />
      {title === null ? (
        <button
          type="button"
          title="Rename. Alt+Up or Alt+Down moves it."
          onClick={() => setTitle(task.title)}
          className={`min-w-0 flex-1 py-1 text-left break-words max-md:min-h-11 ${done ? "text-ink-3 line-through" : ""}`}
        >
          {task.title}
        </button>
      ) : (
        <input
          // biome-ignore lint/a11y/noAutofocus: the user has just asked for it
          autoFocus
          aria-label="Task name"
          value={title}
          onChange={(event) => setTitle(event.target.value)}
          onBlur={keep}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Enter") keep();
            if (event.key === "Escape") setTitle(null);
          }}
          className="h-7 min-w-0 flex-1 rounded-box border border-line bg-surface-0 px-2"
        />
      )}
      <IconButton
        label={`Delete ${task.title}`}
        className="opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 max-md:opacity-100"
        onClick={() => void removeTask(tasks, task)}
      >
        <Icon name="trash" size={14} />
      </IconButton>
    </li>
  );
}
