/** TodoWrite call: the agent's task list. */
import { keyed } from "@/diff/keyed";
import type { ToolRow } from "@/state/rows";
import { VisibleText } from "@/ui/VisibleText";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, listOf, textOf } from "./parts/fields";
import { Problem } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { ToolView } from "./view";

interface Todo {
  text: string;
  status: string;
}

const MARKS: Record<string, [mark: string, word: string, look: string]> = {
  completed: ["✓", "done", "text-done"],
  in_progress: ["●", "in progress", "text-running"],
  pending: ["◦", "to do", "text-ink-3"],
};

function todosOf(input: unknown): Todo[] {
  return listOf(input, "todos").map((each) => {
    const status = textOf(each, "status");
    const doing = status === "in_progress" ? textOf(each, "activeForm") : "";
    return { text: doing || textOf(each, "content", "subject", "activeForm"), status };
  });
}

function title(row: ToolRow): string {
  const todos = todosOf(row.input);
  if (todos.length === 0) return "Tasks";
  const done = todos.filter((todo) => todo.status === "completed").length;
  return `Tasks: ${done} of ${todos.length} done`;
}

function List({ input }: { input: unknown }) {
  const todos = todosOf(input);
  if (todos.length === 0) return <p className="m-0 text-ink-3">The list is empty.</p>;
  return (
    <ul className="m-0 flex list-none flex-col gap-1 p-0">
      {keyed(todos).map(({ key, item }) => (
        <Item key={key} todo={item} />
      ))}
    </ul>
  );
}

function Item({ todo }: { todo: Todo }) {
  const [mark, word, look] = MARKS[todo.status] ?? ["◦", todo.status || "to do", "text-ink-3"];
  const ink =
    todo.status === "completed"
      ? "text-ink-3 line-through"
      : todo.status === "in_progress"
        ? "font-medium"
        : "";
  return (
    <li className="flex min-w-0 gap-2">
      <span aria-hidden="true" className={`w-3.5 shrink-0 text-center ${look}`}>
        {mark}
      </span>
      <span className={`min-w-0 wrap-anywhere ${ink}`}>
        <VisibleText text={todo.text} />
      </span>
      <span className="sr-only">({word})</span>
    </li>
  );
}

export const todoWrite: ToolView = {
  icon: "list",
  title,
  inline: (row) => {
    const now = listOf(row.input, "todos").find((each) => fieldsOf(each).status === "in_progress");
    return now ? <Aside>{firstLine(textOf(now, "activeForm", "content"))}</Aside> : null;
  },
  Body: ({ row }) => (
    <Stack>
      <List input={row.input} />
      <Problem row={row} />
    </Stack>
  ),
  request: ({ input }) => <List input={input} />,
};
