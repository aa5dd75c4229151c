/** A sub-agent: what it was told, what it came back with. What it did in between is the group's (S000-80). */
import type { ToolRow } from "@/state/rows";
import { Shown } from "@/ui/Hidden";
import { Aside } from "./parts/Aside";
import { firstLine, hasFailed, listOf, textOf } from "./parts/fields";
import { Asked, Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Problem } from "./parts/Outcome";
import { Pictures } from "./parts/Pictures";
import { Prose } from "./parts/Prose";
import { Section, Sheet, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function title(row: ToolRow): string {
  const about = textOf(row.input, "description") || firstLine(textOf(row.input, "prompt"), 60);
  return `${row.name || "Agent"}: ${firstLine(about) || "a task of its own"}`;
}

/** Its last words: those of the answer, without what is told to the model only. */
function answerOf(row: ToolRow): string {
  const told = listOf(row.display, "content").map((part) => textOf(part, "text"));
  return told.filter(Boolean).join("\n\n") || row.output;
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId);
  const call = whole.row;
  const prompt = textOf(call.input, "prompt");
  return (
    <Stack>
      {prompt && (
        <Section label={`Prompt${kindOf(call.input)}`}>
          <Sheet copied={prompt}>
            <LongText
              text={prompt}
              most={full ? 500 : 12}
              draw={(text) => (
                <span className="font-sans">
                  <Shown text={text} />
                </span>
              )}
            />
          </Sheet>
        </Section>
      )}
      {hasFailed(call) ? (
        <Problem row={call} />
      ) : (
        call.settled && (
          <Section label="Result">
            <Sheet copied={answerOf(call)}>
              <Prose text={answerOf(call)} most={full ? 1_000 : 40} />
            </Sheet>
          </Section>
        )
      )}
      <Pictures pictures={call.pictures} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function kindOf(input: unknown): string {
  const kind = textOf(input, "subagent_type");
  return kind ? ` for ${kind}` : "";
}

function Asks({ input }: AskProps) {
  return (
    <Stack>
      <Asked label={`Start an agent${kindOf(input)}`} text={textOf(input, "description")} />
      <Literal label="Prompt" text={textOf(input, "prompt")} />
    </Stack>
  );
}

export const agent: ToolView = {
  icon: "robot",
  title,
  inline: (row) => <Aside>{textOf(row.input, "subagent_type")}</Aside>,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: Asks,
};
