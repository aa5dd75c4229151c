/** Parses the numbered lines of Read's output (`12\ttext`, `    12→text`). */
import type { ToolRow } from "@/state/rows";
import type { NumberedLine } from "./FileText";
import { fieldsOf, numberOf, textOf } from "./fields";

const NUMBERED = /^ {0,6}(\d{1,9})(?:\t|→)(.*)$/s;
const REMINDER = /\n*<system-reminder>[\s\S]*<\/system-reminder>\s*$/;

export interface Printed {
  lines: NumberedLine[];
  /** Notes for the model. */
  note: string;
}

export function printedLines(row: ToolRow): Printed {
  const reminder = REMINDER.exec(row.output);
  const body = reminder ? row.output.slice(0, reminder.index) : row.output;
  const note = reminder ? reminder[0].replace(/<\/?system-reminder>/g, "").trim() : "";
  const lines = body.split("\n").map(read);
  if (lines.some((line) => line.number !== null)) return { lines: withoutLast(lines), note };
  const reported = reportedLines(row.display);
  return { lines: reported ?? withoutLast(lines), note };
}

function read(text: string): NumberedLine {
  const found = NUMBERED.exec(text);
  return found
    ? { number: Number(found[1]), text: (found[2] ?? "").replace(/\r$/, "") }
    : { number: null, text };
}

function withoutLast(lines: NumberedLine[]): NumberedLine[] {
  const last = lines.at(-1);
  return last && last.number === null && last.text === "" ? lines.slice(0, -1) : lines;
}

function reportedLines(display: unknown): NumberedLine[] | null {
  const file = fieldsOf(fieldsOf(display).file);
  const content = textOf(file, "content");
  if (!content) return null;
  const first = numberOf(file, "startLine") ?? 1;
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((text, index) => ({ number: first + index, text: text.replace(/\r$/, "") }));
}
