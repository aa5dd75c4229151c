/** BashOutput call: new output of a background command. */
import { plural } from "@/format/values";
import type { ToolRow } from "@/state/rows";
import { fieldsOf, firstLine, lineCount, numberOf, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Output } from "./parts/Output";
import { Stack } from "./parts/Section";
import type { CallProps, ToolView } from "./view";

function shell(row: ToolRow): string {
  return textOf(row.input, "bash_id", "shell_id", "task_id") || textOf(row.display, "shellId");
}

function title(row: ToolRow): string {
  const command = firstLine(textOf(row.display, "command"), 60);
  return `Output of ${shell(row) || "a shell"}${command ? ` · $ ${command}` : ""}`;
}

function statusText(row: ToolRow): string {
  const status = textOf(row.display, "status") || tagged(row.output, "status");
  const code = numberOf(row.display, "exitCode");
  return [status, code !== null && status !== "running" ? `exit ${code}` : ""].filter(Boolean).join(", ");
}

/** The new output without the tags meant for the model. */
function printed(row: ToolRow): string {
  const reported = fieldsOf(row.display).stdout;
  if (typeof reported === "string")
    return [reported, textOf(row.display, "stderr")].filter(Boolean).join("\n");
  const inside = [tagged(row.output, "output"), tagged(row.output, "stdout"), tagged(row.output, "stderr")];
  return inside.filter(Boolean).join("\n") || row.output;
}

function tagged(text: string, tag: string): string {
  const start = text.indexOf(`<${tag}>`);
  const end = text.lastIndexOf(`</${tag}>`);
  return start >= 0 && end > start ? text.slice(start + tag.length + 2, end).replace(/^\n|\n$/g, "") : "";
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const filter = textOf(row.input, "filter");
  return (
    <Stack>
      {filter && <RequestField label="Filter" text={filter} />}
      <Problem row={row} />
      {row.settled === "completed" && <Output text={printed(whole.row)} ansi full={full} />}
      <LoadAll whole={whole} />
    </Stack>
  );
}

export const bashOutput: ToolView = {
  icon: "terminal",
  title,
  inline: (row) => {
    const lines = lineCount(printed(row).trim()) + row.missing.output.lines;
    return [statusText(row), lines > 0 ? plural(lines, "new line") : ""].filter(Boolean).join(" · ");
  },
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
};
