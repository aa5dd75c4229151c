/** A skill or a command of the project that the agent took up. */
import type { ToolRow } from "@/state/rows";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, jsonOf, textOf } from "./parts/fields";
import { Asked } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { Section, Sheet, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
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
  const whole = useWhole(row, sessionId);
  const given = argumentsOf(row.input);
  return (
    <Stack>
      {given && <Asked label="With" text={given} />}
      {hasFailed(row) ? (
        <Problem row={row} />
      ) : (
        whole.row.output && (
          <Section label="Told to the model">
            <Sheet copied={whole.row.output}>
              <Prose text={whole.row.output} most={full ? 1_000 : 20} />
            </Sheet>
          </Section>
        )
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

export const skill: ToolView = {
  icon: "list",
  title: (row: ToolRow) => `Skill ${firstLine(nameOf(row.input)) || "of the project"}`,
  inline: (row) => <Aside>{firstLine(argumentsOf(row.input), 60)}</Aside>,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: ({ input }) => (
    <Stack>
      <Asked label="Take up the skill" text={nameOf(input)} />
      {argumentsOf(input) && <Asked label="With" text={argumentsOf(input)} />}
    </Stack>
  ),
};
