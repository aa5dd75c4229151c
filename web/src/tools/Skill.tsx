/** Skill call: a skill or project command the agent uses. */
import type { ToolRow } from "@/state/rows";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, jsonOf, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { CopyableText, Section, Stack } from "./parts/Section";
import type { CallProps, ToolView } from "./view";

function nameOf(input: unknown): string {
  return textOf(input, "skill", "command", "name");
}

function argumentsOf(input: unknown): string {
  const { args, arguments: others } = fieldsOf(input);
  const given = args ?? others;
  return typeof given === "string" ? given : given === undefined || given === null ? "" : jsonOf(given);
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const given = argumentsOf(row.input);
  return (
    <Stack>
      {given && <RequestField label="Arguments" text={given} />}
      {hasFailed(row) ? (
        <Problem row={row} />
      ) : (
        whole.row.output && (
          <Section label="Instructions for the model">
            <CopyableText copied={whole.row.output}>
              <Prose text={whole.row.output} most={full ? 1_000 : 20} />
            </CopyableText>
          </Section>
        )
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

export const skill: ToolView = {
  icon: "list",
  title: (row: ToolRow) => `Skill ${firstLine(nameOf(row.input)) || "from the project"}`,
  inline: (row) => <Aside>{firstLine(argumentsOf(row.input), 60)}</Aside>,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  request: ({ input }) => (
    <Stack>
      <RequestField label="Use skill" text={nameOf(input)} />
      {argumentsOf(input) && <RequestField label="Arguments" text={argumentsOf(input)} />}
    </Stack>
  ),
};
