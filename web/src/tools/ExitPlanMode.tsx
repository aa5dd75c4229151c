/** A plan that was put before a person. */
import type { ToolRow } from "@/state/rows";
import { firstLine, hasFailed, textOf } from "./parts/fields";
import { Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { Section, Sheet, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { CallProps, ToolView } from "./view";

function planOf(row: Pick<ToolRow, "input" | "display">): string {
  return textOf(row.input, "plan") || textOf(row.display, "plan");
}

function title(row: ToolRow): string {
  const head = firstLine(planOf(row).replace(/^[#\s]+/, ""));
  return `Plan${head ? `: ${head}` : ""}`;
}

function inline(row: ToolRow) {
  if (hasFailed(row)) return <span className="text-failed">not approved</span>;
  return row.settled === "completed" ? <span className="text-done">approved</span> : null;
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId, true);
  const plan = planOf(whole.row);
  const file = textOf(row.display, "filePath");
  return (
    <Stack>
      {plan ? (
        <Section label={file}>
          <Sheet copied={plan}>
            <Prose text={plan} most={full ? 2_000 : 80} />
          </Sheet>
        </Section>
      ) : (
        <p className="m-0 text-ink-3">No plan was written down.</p>
      )}
      <Problem row={row} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

export const exitPlanMode: ToolView = {
  icon: "list",
  title,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: ({ input }) => <Literal label="Plan" text={planOf({ input, display: null })} />,
};
