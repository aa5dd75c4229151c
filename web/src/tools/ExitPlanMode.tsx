/** ExitPlanMode call: the proposed plan. */
import type { ToolRow } from "@/state/rows";
import { firstLine, hasFailed, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { CopyableText, Section, Stack } from "./parts/Section";
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
  const whole = useFullCall(row, sessionId, true);
  const plan = planOf(whole.row);
  const file = textOf(row.display, "filePath");
  return (
    <Stack>
      {plan ? (
        <Section label={file}>
          <CopyableText copied={plan}>
            <Prose text={plan} most={full ? 2_000 : 80} />
          </CopyableText>
        </Section>
      ) : (
        <p className="m-0 text-ink-3">No plan was given.</p>
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
  request: ({ input }) => <Literal label="Plan" text={planOf({ input, display: null })} />,
};
