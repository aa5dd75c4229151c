/** Agent call: its prompt and result. Its steps are shown by the group. */
import type { ToolRow } from "@/state/rows";
import { VisibleText } from "@/ui/VisibleText";
import { Aside } from "./parts/Aside";
import { firstLine, hasFailed, listOf, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Literal, RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { ResultImages } from "./parts/ResultImages";
import { CopyableText, Section, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function title(row: ToolRow): string {
  const about = textOf(row.input, "description") || firstLine(textOf(row.input, "prompt"), 60);
  return `${row.name || "Agent"}: ${firstLine(about) || "task"}`;
}

/** The agent's final answer, without the notes meant for the model. */
function answerOf(row: ToolRow): string {
  const reported = listOf(row.display, "content").map((part) => textOf(part, "text"));
  return reported.filter(Boolean).join("\n\n") || row.output;
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const call = whole.row;
  const prompt = textOf(call.input, "prompt");
  return (
    <Stack>
      {prompt && (
        <Section label={`Prompt${kindOf(call.input)}`}>
          <CopyableText copied={prompt}>
            <LongText
              text={prompt}
              most={full ? 500 : 12}
              draw={(text) => (
                <span className="font-sans">
                  <VisibleText text={text} />
                </span>
              )}
            />
          </CopyableText>
        </Section>
      )}
      {hasFailed(call) ? (
        <Problem row={call} />
      ) : (
        call.settled && (
          <Section label="Result">
            <CopyableText copied={answerOf(call)}>
              <Prose text={answerOf(call)} most={full ? 1_000 : 40} />
            </CopyableText>
          </Section>
        )
      )}
      <ResultImages images={call.images} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function kindOf(input: unknown): string {
  const kind = textOf(input, "subagent_type");
  return kind ? ` for ${kind}` : "";
}

function ApprovalRequest({ input }: RequestProps) {
  return (
    <Stack>
      <RequestField label={`Start an agent${kindOf(input)}`} text={textOf(input, "description")} />
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
  request: ApprovalRequest,
};
