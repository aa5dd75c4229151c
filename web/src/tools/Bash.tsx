/** A command in a shell: the command, what it is for, what it printed, how it ended (S000-75). */
import type { ToolRow } from "@/state/rows";
import { plain } from "@/text/terminal";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, lineCount, numberOf, problemOf, textOf } from "./parts/fields";
import { Asked, Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Output } from "./parts/Output";
import { Pictures } from "./parts/Pictures";
import { Ground, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function command(input: unknown): string {
  return textOf(input, "command");
}

function title(row: ToolRow): string {
  return `$ ${firstLine(command(row.input)) || "…"}`;
}

/** The first 80 characters of what it printed, and how many lines that is. */
function inline(row: ToolRow) {
  const shell = shellOf(row);
  if (shell) return <span className="text-running">in background · {shell}</span>;
  const words = printed(row).trim();
  if (!words) return null;
  const lines = numberOf(row.display, "outputLines") ?? lineCount(words) + row.missing.output.lines;
  const count = lines > 1 ? ` (${lines.toLocaleString("en")} lines)` : "";
  return (
    <span className="inline-flex items-baseline gap-1">
      <Aside failed={hasFailed(row) && row.status !== "interrupted"}>{firstLine(words)}</Aside>
      <span className="text-ink-3">{count}</span>
    </span>
  );
}

/** What it printed, without escapes: only its beginning is looked at for one line of the page. */
function printed(row: ToolRow): string {
  const words = hasFailed(row) ? problemOf(row) : row.output;
  return plain(words.length > 100_000 ? words.slice(0, 100_000) : words);
}

function shellOf(row: ToolRow): string {
  return textOf(row.display, "backgroundTaskId");
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId);
  const call = whole.row;
  const description = textOf(call.input, "description");
  const failed = hasFailed(call);
  return (
    <Stack>
      {description && <p className="m-0 text-ink-2">{description}</p>}
      <Ground copied={command(call.input)}>
        <div className="grid grid-cols-[auto_minmax(0,1fr)]">
          <span aria-hidden="true" className="pr-[1ch] font-mono text-code text-ink-3 select-none">
            $
          </span>
          <div className="min-w-0">
            <LongText text={command(call.input)} most={full ? 2_000 : 30} />
          </div>
        </div>
      </Ground>
      <State row={call} />
      {(call.output || !isOpen(call)) && (
        <Output text={failed ? problemOf(call) : call.output} ansi full={full} />
      )}
      <Pictures pictures={call.pictures} />
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
  else if (input.run_in_background === true) notes.push("Asked to run in the background");
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

function Asks({ input }: AskProps) {
  const description = textOf(input, "description");
  return (
    <Stack>
      <Literal text={command(input)} label="Command" />
      {description && <Asked label="It says" text={description} />}
      {fieldsOf(input).run_in_background === true && <Asked label="Where" text="in the background" />}
      {fieldsOf(input).outside_sandbox === true && <Asked label="Where" text="outside the sandbox" />}
      {textOf(input, "timeout") && <Asked label="At most" text={`${textOf(input, "timeout")} ms`} />}
    </Stack>
  );
}

export const bash: ToolView = {
  icon: "terminal",
  title,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: Asks,
};
