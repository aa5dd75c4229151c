/** The agent goes over to planning: it looks and writes nothing. */
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { Stack } from "./parts/Section";
import type { ToolView } from "./view";

export const enterPlanMode: ToolView = {
  icon: "list",
  title: () => "Begin to plan",
  Body: ({ row }) => (
    <Stack>
      <Problem row={row} />
      {row.settled === "completed" && row.output && <Prose text={row.output} most={10} />}
    </Stack>
  ),
  asks: () => (
    <p className="m-0">Go over to plan mode: look at things, change nothing, then put a plan before you.</p>
  ),
};
