/** Generic view of any tool: name, input, output. */
import type { ToolRow } from "@/state/rows";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, jsonOf, lineCount } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Input } from "./parts/Input";
import { Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Output } from "./parts/Output";
import { ResultImages } from "./parts/ResultImages";
import { CodeGround, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

/** The first input value, which usually describes the call best. */
function about(row: ToolRow): string {
  const value = Object.values(fieldsOf(row.input)).find((each) => typeof each === "string" && each.trim());
  return typeof value === "string" ? firstLine(value, 60) : "";
}

export function outputSummary(row: ToolRow) {
  const output = row.settled === "completed" ? row.output.trim() : "";
  if (!output) return null;
  const lines = lineCount(output) + row.missing.output.lines;
  return (
    <span className="inline-flex items-baseline gap-1">
      <Aside>{firstLine(output)}</Aside>
      {lines > 1 && <span className="text-ink-3">({lines.toLocaleString("en")} lines)</span>}
    </span>
  );
}

export function GenericView({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const call = whole.row;
  return (
    <Stack>
      <CodeGround copied={jsonOf(call.input)}>
        <Input input={call.input} most={full ? 1_000 : 20} />
      </CodeGround>
      {call.malformed && (
        <p className="m-0 text-failed">The model wrote invalid input: {firstLine(call.malformed, 200)}</p>
      )}
      {hasFailed(call) ? <Problem row={call} /> : call.settled && <Output text={call.output} full={full} />}
      <ResultImages images={call.images} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  return <Literal label="Input" text={jsonOf(input)} />;
}

export const generic: ToolView = {
  icon: "plug",
  title: (row) => [row.name || "Tool", about(row)].filter(Boolean).join(" "),
  inline: outputSummary,
  Body: (props) => <GenericView {...props} full={false} />,
  Full: (props) => <GenericView {...props} full />,
  request: ApprovalRequest,
};
