/** EnterPlanMode call: the agent starts planning. */
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { Stack } from "./parts/Section";
import type { ToolView } from "./view";

export const enterPlanMode: ToolView = {
  icon: "list",
  title: () => "Enter plan mode",
  Body: ({ row }) => (
    <Stack>
      <Problem row={row} />
      {row.settled === "completed" && row.output && <Prose text={row.output} most={10} />}
    </Stack>
  ),
  request: () => (
    <p className="m-0">Enter plan mode: explore without changing anything, then propose a plan.</p>
  ),
};
