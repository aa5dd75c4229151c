/** KillShell call: ends a background command. */
import type { ToolRow } from "@/state/rows";
import { textOf } from "./parts/fields";
import { RequestField } from "./parts/Literal";
import { Problem } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { ToolView } from "./view";

function shell(input: unknown): string {
  return textOf(input, "shell_id", "task_id", "bash_id");
}

export const killShell: ToolView = {
  icon: "stop",
  title: (row: ToolRow) => `Stop ${shell(row.input) || "a shell"}`,
  Body: ({ row }) => (
    <Stack>
      <Problem row={row} />
      {row.settled === "completed" && (
        <RequestField label="✓" text={textOf(row.display, "message") || row.output} />
      )}
    </Stack>
  ),
  request: ({ input }) => <RequestField label="Stop background command" text={shell(input)} />,
};
