/** Tasks panel: what runs in the background, the agent's tasks and your own. */
import { type FormEvent, useState } from "react";
import { errorMessage } from "@/api/client";
import type { SessionView } from "@/api/types";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { BackgroundItems } from "./background/BackgroundItems";
import { backgroundList } from "./background/backgroundList";
import { AgentTasks } from "./tasks/AgentTasks";
import { OwnTask } from "./tasks/OwnTask";
import { addTask, type Tasks, useTasks } from "./tasks/useTasks";

export function TasksPanel({ session }: { session: SessionView }) {
  const tasks = useTasks(session.id);
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const done = tasks.agents.filter((task) => task.status === "completed").length;
  const items = backgroundList(session.background).length;
  const nothing = tasks.loaded && tasks.agents.length === 0 && tasks.mine.length === 0 && items === 0;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="min-h-0 flex-1 overflow-auto">
        {tasks.error && <p className="m-3 text-failed">{errorMessage(tasks.error)}</p>}
        {nothing && (
          <Empty title="No tasks yet">
            The agent's task list appears here, and what it runs in the background. Add what you want to keep
            in mind below; the agent does not see it.
          </Empty>
        )}
        <BackgroundItems session={session} />
        {tasks.agents.length > 0 && (
          <section aria-label="The agent's tasks">
            <Title title="Agent" number={`${done} of ${tasks.agents.length}`} />
            <AgentTasks tasks={tasks.agents} />
          </section>
        )}
        {tasks.mine.length > 0 && (
          <section aria-label="Your tasks">
            <Title
              title="Yours"
              number={`${tasks.mine.filter((task) => task.status === "completed").length} of ${tasks.mine.length}`}
            />
            <ol className="m-0 list-none p-0">
              {tasks.mine.map((task, index) => (
                <OwnTask key={task.id} tasks={tasks} task={task} at={index} />
              ))}
            </ol>
          </section>
        )}
      </div>
      {allowed && <AddTask tasks={tasks} />}
    </div>
  );
}

function Title({ title, number }: { title: string; number: string }) {
  return (
    <h2 className="m-0 flex h-8 items-center gap-2 px-3 text-small font-semibold text-ink-2">
      {title}
      <span className="tabular font-normal text-ink-3">{number}</span>
    </h2>
  );
}

function AddTask({ tasks }: { tasks: Tasks }) {
  const [title, setTitle] = useState("");
  const add = async (event: FormEvent) => {
    event.preventDefault();
    const wanted = title.trim();
    if (!wanted) return;
    setTitle("");
    if (!(await addTask(tasks, wanted))) setTitle(wanted);
  };
  return (
    <form onSubmit={(event) => void add(event)} className="hairline-t flex shrink-0 gap-2 p-2">
      <input
        aria-label="New task"
        placeholder="Add a task"
        value={title}
        maxLength={2000}
        onChange={(event) => setTitle(event.target.value)}
        className="h-8 min-w-0 flex-1 rounded-box border border-line bg-surface-0 px-2 max-md:h-11"
      />
      <Button type="submit" className="h-8" disabled={!title.trim()}>
        Add
      </Button>
    </form>
  );
}
