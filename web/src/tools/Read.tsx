/** Read call: numbered lines or images of a file. */
import { bytes, plural } from "@/format/values";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { FileText } from "./parts/FileText";
import { fieldsOf, hasFailed, numberOf, pathOf, relativePath, textOf, withinDirectory } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { printedLines } from "./parts/numbered";
import { Problem } from "./parts/Outcome";
import { isDrawn, ResultImages } from "./parts/ResultImages";
import { CodeGround, Section, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function title(row: ToolRow, cwd?: string): string {
  return `Read ${relativePath(pathOf(row), cwd) || "a file"}${range(row.input)}`;
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

/** A short summary of the content. */
function inline(row: ToolRow): string {
  if (row.images.length > 0 || textOf(row.display, "type") === "image") return imageSummary(row);
  const file = fieldsOf(fieldsOf(row.display).file);
  const lines = numberOf(file, "numLines");
  const all = numberOf(file, "totalLines");
  if (lines === null) return "";
  return all !== null && all > lines
    ? `${lines.toLocaleString("en")} of ${plural(all, "line")}`
    : plural(lines, "line");
}

function imageSummary(row: ToolRow): string {
  const file = fieldsOf(fieldsOf(row.display).file);
  const width = numberOf(file.dimensions, "originalWidth");
  const height = numberOf(file.dimensions, "originalHeight");
  const size = numberOf(file, "originalSize");
  const parts = [width && height ? `${width} × ${height}` : "image", size ? bytes(size) : ""];
  return parts.filter(Boolean).join(", ");
}

/** Images of the result, or of its display data. */
function imagesOf(row: ToolRow) {
  if (row.images.length > 0) return row.images;
  const file = fieldsOf(fieldsOf(row.display).file);
  const image = { mediaType: textOf(file, "type"), data: textOf(file, "base64") };
  return isDrawn(image) ? [image] : [];
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const call = whole.row;
  const images = imagesOf(call);
  const path = pathOf(call);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const label = full || relativePath(path, cwd) !== withinDirectory(path, cwd) ? path : "";
  if (hasFailed(call)) return <Problem row={call} />;
  const { lines, note } = printedLines(call);
  return (
    <Stack>
      <ResultImages images={images} />
      {call.output && (
        <Section label={label}>
          <CodeGround copied={lines.map((line) => line.text).join("\n")}>
            <FileText lines={lines} path={path} most={full ? 2_000 : 40} />
          </CodeGround>
        </Section>
      )}
      {note && (
        <Section label="Notes for the model">
          <LongText text={note} most={3} />
        </Section>
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  return (
    <RequestField label="Read" text={textOf(input, "file_path", "path", "notebook_path") + range(input)} />
  );
}

export const read: ToolView = {
  icon: "file",
  title,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  request: ApprovalRequest,
};
