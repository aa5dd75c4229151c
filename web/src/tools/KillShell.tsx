/** A command in the background is ended. */
import type { ToolRow } from "@/state/rows";
import { textOf } from "./parts/fields";
import { Asked } from "./parts/Literal";
import { Problem } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { ToolView } from "./view";

function shell(input: unknown): string {
  return textOf(input, "shell_id", "task_id", "bash_id");
}

export const killShell: ToolView = {
  icon: "stop",
  title: (row: ToolRow) => `End ${shell(row.input) || "a shell"}`,
  Body: ({ row }) => (
    <Stack>
      <Problem row={row} />
      {row.settled === "completed" && <Asked label="✓" text={textOf(row.display, "message") || row.output} />}
    </Stack>
  ),
  asks: ({ input }) => <Asked label="End the command in the background" text={shell(input)} />,
};
