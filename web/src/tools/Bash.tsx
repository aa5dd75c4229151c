/** Bash call: command, description, output, exit status. */
import type { ToolRow } from "@/state/rows";
import { plainText } from "@/text/terminal";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, lineCount, numberOf, problemOf, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Literal, RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Output } from "./parts/Output";
import { ResultImages } from "./parts/ResultImages";
import { CodeGround, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function command(input: unknown): string {
  return textOf(input, "command");
}

function title(row: ToolRow): string {
  return `$ ${firstLine(command(row.input)) || "…"}`;
}

/** The first 80 characters of the output, and its number of lines. */
function inline(row: ToolRow) {
  const shell = shellOf(row);
  if (shell) return <span className="text-running">in background · {shell}</span>;
  const text = printed(row).trim();
  if (!text) return null;
  const lines = numberOf(row.display, "outputLines") ?? lineCount(text) + row.missing.output.lines;
  const count = lines > 1 ? ` (${lines.toLocaleString("en")} lines)` : "";
  return (
    <span className="inline-flex items-baseline gap-1">
      <Aside failed={hasFailed(row) && row.status !== "interrupted"}>{firstLine(text)}</Aside>
      <span className="text-ink-3">{count}</span>
    </span>
  );
}

/** The beginning of the output as plain text, enough for one line. */
function printed(row: ToolRow): string {
  const text = hasFailed(row) ? problemOf(row) : row.output;
  return plainText(text.length > 100_000 ? text.slice(0, 100_000) : text);
}

function shellOf(row: ToolRow): string {
  return textOf(row.display, "backgroundTaskId");
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const call = whole.row;
  const description = textOf(call.input, "description");
  const failed = hasFailed(call);
  return (
    <Stack>
      {description && <p className="m-0 text-ink-2">{description}</p>}
      <CodeGround copied={command(call.input)}>
        <div className="grid grid-cols-[auto_minmax(0,1fr)]">
          <span aria-hidden="true" className="pr-[1ch] font-mono text-code text-ink-3 select-none">
            $
          </span>
          <div className="min-w-0">
            <LongText text={command(call.input)} most={full ? 2_000 : 30} />
          </div>
        </div>
      </CodeGround>
      <State row={call} />
      {(call.output || !isOpen(call)) && (
        <Output text={failed ? problemOf(call) : call.output} ansi full={full} />
      )}
      <ResultImages images={call.images} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function isOpen(row: ToolRow): boolean {
  return !row.settled && (row.status === "pending" || row.status === "running" || row.status === "writing");
}

function State({ row }: { row: ToolRow }) {
  const notes: string[] = [];
  const input = fieldsOf(row.input);
  if (shellOf(row)) notes.push(`Runs in the background as ${shellOf(row)}`);
  else if (input.run_in_background === true) notes.push("Requested to run in the background");
  if (input.outside_sandbox === true) notes.push("Outside the sandbox");
  const status = row.settled || row.status;
  const word = { error: "✗ Failed", denied: "✗ Denied", interrupted: "◌ Stopped" }[status as string];
  if (!word && notes.length === 0) return null;
  return (
    <p className="m-0 flex flex-wrap gap-x-3 text-ink-3">
      {word && <span className="font-medium text-failed">{word}</span>}
      {notes.join(" · ")}
    </p>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  const description = textOf(input, "description");
  return (
    <Stack>
      <Literal text={command(input)} label="Command" />
      {description && <RequestField label="Description" text={description} />}
      {fieldsOf(input).run_in_background === true && <RequestField label="Runs" text="in the background" />}
      {fieldsOf(input).outside_sandbox === true && <RequestField label="Runs" text="outside the sandbox" />}
      {textOf(input, "timeout") && <RequestField label="Timeout" text={`${textOf(input, "timeout")} ms`} />}
    </Stack>
  );
}

export const bash: ToolView = {
  icon: "terminal",
  title,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  request: ApprovalRequest,
};
