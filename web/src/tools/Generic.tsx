/** Any tool: its name, its input, its output (S000-74). */
import type { ToolRow } from "@/state/rows";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, jsonOf, lineCount } from "./parts/fields";
import { Input } from "./parts/Input";
import { Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Output } from "./parts/Output";
import { Pictures } from "./parts/Pictures";
import { Ground, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

/** The first thing it was given says most about a call. */
function about(row: ToolRow): string {
  const value = Object.values(fieldsOf(row.input)).find((each) => typeof each === "string" && each.trim());
  return typeof value === "string" ? firstLine(value, 60) : "";
}

export function outputWords(row: ToolRow) {
  const words = row.settled === "completed" ? row.output.trim() : "";
  if (!words) return null;
  const lines = lineCount(words) + row.missing.output.lines;
  return (
    <span className="inline-flex items-baseline gap-1">
      <Aside>{firstLine(words)}</Aside>
      {lines > 1 && <span className="text-ink-3">({lines.toLocaleString("en")} lines)</span>}
    </span>
  );
}

export function GenericView({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId);
  const call = whole.row;
  return (
    <Stack>
      <Ground copied={jsonOf(call.input)}>
        <Input input={call.input} most={full ? 1_000 : 20} />
      </Ground>
      {call.malformed && (
        <p className="m-0 text-failed">
          The model wrote an input that cannot be read: {firstLine(call.malformed, 200)}
        </p>
      )}
      {hasFailed(call) ? <Problem row={call} /> : call.settled && <Output text={call.output} full={full} />}
      <Pictures pictures={call.pictures} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  return <Literal label="Input" text={jsonOf(input)} />;
}

export const generic: ToolView = {
  icon: "plug",
  title: (row) => [row.name || "Tool", about(row)].filter(Boolean).join(" "),
  inline: outputWords,
  Body: (props) => <GenericView {...props} full={false} />,
  Full: (props) => <GenericView {...props} full />,
  asks: Asks,
};
