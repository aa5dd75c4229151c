/** A file that was looked at: its lines with their numbers, or its pictures. */
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { bytes, plural } from "@/words/format";
import { FileText } from "./parts/FileText";
import { fieldsOf, hasFailed, insideOf, numberOf, pathOf, placeOf, textOf } from "./parts/fields";
import { Asked } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { printedLines } from "./parts/numbered";
import { Problem } from "./parts/Outcome";
import { isDrawn, Pictures } from "./parts/Pictures";
import { Ground, Section, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function title(row: ToolRow, cwd?: string): string {
  return `Read ${placeOf(pathOf(row), cwd) || "a file"}${range(row.input)}`;
}

function range(input: unknown): string {
  const pages = textOf(input, "pages");
  if (pages) return ` · pages ${pages}`;
  const first = numberOf(input, "offset");
  const count = numberOf(input, "limit");
  if (first === null && count === null) return "";
  const from = first ?? 1;
  return count === null ? `:${from}` : `:${from}–${from + count - 1}`;
}

/** What there was to see, in a few words. */
function inline(row: ToolRow): string {
  if (row.pictures.length > 0 || textOf(row.display, "type") === "image") return pictureWords(row);
  const file = fieldsOf(fieldsOf(row.display).file);
  const lines = numberOf(file, "numLines");
  const all = numberOf(file, "totalLines");
  if (lines === null) return "";
  return all !== null && all > lines
    ? `${lines.toLocaleString("en")} of ${plural(all, "line")}`
    : plural(lines, "line");
}

function pictureWords(row: ToolRow): string {
  const file = fieldsOf(fieldsOf(row.display).file);
  const width = numberOf(file.dimensions, "originalWidth");
  const height = numberOf(file.dimensions, "originalHeight");
  const size = numberOf(file, "originalSize");
  const words = [width && height ? `${width} × ${height}` : "picture", size ? bytes(size) : ""];
  return words.filter(Boolean).join(", ");
}

/** Pictures of the result; of a tool that gave them for people only, those. */
function picturesOf(row: ToolRow) {
  if (row.pictures.length > 0) return row.pictures;
  const file = fieldsOf(fieldsOf(row.display).file);
  const picture = { mediaType: textOf(file, "type"), data: textOf(file, "base64") };
  return isDrawn(picture) ? [picture] : [];
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId);
  const call = whole.row;
  const pictures = picturesOf(call);
  const path = pathOf(call);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const label = full || placeOf(path, cwd) !== insideOf(path, cwd) ? path : "";
  if (hasFailed(call)) return <Problem row={call} />;
  const { lines, note } = printedLines(call);
  return (
    <Stack>
      <Pictures pictures={pictures} />
      {call.output && (
        <Section label={label}>
          <Ground copied={lines.map((line) => line.text).join("\n")}>
            <FileText lines={lines} path={path} most={full ? 2_000 : 40} />
          </Ground>
        </Section>
      )}
      {note && (
        <Section label="Told to the model with it">
          <LongText text={note} most={3} />
        </Section>
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  return <Asked label="Read" text={textOf(input, "file_path", "path", "notebook_path") + range(input)} />;
}

export const read: ToolView = {
  icon: "file",
  title,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: Asks,
};
