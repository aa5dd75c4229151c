/** Tasks of a session, the agent's and people's, with optimistic updates. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, unwrap } from "@/api/client";
import type { Task, TaskRow } from "@/api/types";
import { showError } from "@/state/actions";
import { useOfTranscript, useTranscript } from "@/state/hooks";
import { onFrame } from "@/stream/connection";
import { toast } from "@/ui/toast";
import { moved, ordered } from "./order";

interface List {
  tasks: TaskRow[];
}

export function useTasks(sessionId: string) {
  const queries = useQueryClient();
  const key = ["tasks", sessionId];
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: () => unwrap(api.GET("/sessions/{id}/tasks", { params: { path: { id: sessionId } } })),
  });
  useEffect(
    () =>
      onFrame((frame) => {
        if (!("topic" in frame) || frame.topic !== `session:${sessionId}`) return;
        if (frame.type === "tasks.changed")
          queries.setQueryData(["tasks", sessionId], { tasks: frame.data.tasks });
        // Changes before the subscription may have been missed.
        if (frame.type === "stream.synchronized")
          void queries.invalidateQueries({ queryKey: ["tasks", sessionId] });
      }),
    [sessionId, queries],
  );
  const agents = useAgentsTasks(sessionId, data?.tasks);
  const mine = ordered((data?.tasks ?? []).filter((task) => task.source === "user"));
  /** Optimistic update; if the server refuses, shows its state. */
  const change = async (
    make: (tasks: TaskRow[]) => TaskRow[],
    tell: () => Promise<unknown>,
  ): Promise<boolean> => {
    queries.setQueryData<List>(key, (list) => list && { tasks: make(list.tasks) });
    try {
      await tell();
      return true;
    } catch (problem) {
      showError(problem);
      await queries.invalidateQueries({ queryKey: key });
      return false;
    }
  };
  return { agents, mine, error, loaded: data !== undefined, change, sessionId };
}

export type Tasks = ReturnType<typeof useTasks>;

/** The latest list of the transcript: it is there before the database has it. */
function useAgentsTasks(sessionId: string, stored: readonly TaskRow[] | undefined): Task[] {
  const transcript = useTranscript(sessionId);
  const reported = useOfTranscript(transcript, (each) => each.fold.tasks);
  if (reported.at > 0) return reported.tasks;
  return (stored ?? [])
    .filter((task) => task.source === "sdk")
    .map((task) => ({ content: task.title, status: task.status, active_form: "" }));
}

export async function addTask({ change, sessionId }: Tasks, title: string): Promise<boolean> {
  return change(
    (tasks) => tasks,
    () => add(sessionId, { title }),
  );
}

function add(sessionId: string, task: Pick<TaskRow, "title"> & Partial<TaskRow>): Promise<TaskRow> {
  const { title, status = "pending", description = "" } = task;
  const params = { path: { id: sessionId } };
  return unwrap(api.POST("/sessions/{id}/tasks", { params, body: { title, status, description } }));
}

export async function changeTask({ change }: Tasks, id: string, body: Partial<TaskRow>): Promise<boolean> {
  const { title = null, status = null, sort_order = null } = body;
  return change(
    (tasks) => tasks.map((task) => (task.id === id ? { ...task, ...body } : task)),
    () =>
      unwrap(
        api.PATCH("/tasks/{id}", {
          params: { path: { id } },
          body: { title, status, sort_order, description: null },
        }),
      ),
  );
}

export async function removeTask({ change, sessionId }: Tasks, task: TaskRow): Promise<void> {
  const gone = await change(
    (tasks) => tasks.filter((each) => each.id !== task.id),
    () => api.DELETE("/tasks/{id}", { params: { path: { id: task.id } } }),
  );
  if (!gone) return;
  const undo = async () => {
    try {
      const made = await add(sessionId, task);
      const body = { sort_order: task.sort_order, title: null, status: null, description: null };
      await unwrap(api.PATCH("/tasks/{id}", { params: { path: { id: made.id } }, body }));
    } catch (problem) {
      showError(problem);
    }
  };
  toast(`Deleted “${task.title}”.`, { action: { label: "Undo", onClick: () => void undo() } });
}

export async function moveTask(tasks: Tasks, id: string, to: number): Promise<void> {
  const changed = moved(tasks.mine, id, to);
  const byId = new Map(changed.map((task) => [task.id, task]));
  await tasks.change(
    (all) => all.map((task) => byId.get(task.id) ?? task),
    async () => {
      for (const { id: each, sort_order } of changed) {
        const body = { sort_order, title: null, status: null, description: null };
        await unwrap(api.PATCH("/tasks/{id}", { params: { path: { id: each } }, body }));
      }
    },
  );
}
