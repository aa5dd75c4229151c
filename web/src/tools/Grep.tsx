/** Grep call: matches by file. */
import { useMemo } from "react";
import { plural } from "@/format/values";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { VisibleText } from "@/ui/VisibleText";
import { foundFiles } from "./Glob";
import { FileText } from "./parts/FileText";
import {
  fieldsOf,
  firstLine,
  hasFailed,
  numberOf,
  relativePath,
  textOf,
  withinDirectory,
} from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { type FileMatches, matchesOf } from "./parts/matches";
import { Problem } from "./parts/Outcome";
import { CodeGround, Section, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function title(row: ToolRow, cwd?: string): string {
  const { input } = row;
  const where = relativePath(textOf(input, "path"), cwd);
  const only = textOf(input, "glob", "type");
  return `Search “${firstLine(textOf(input, "pattern"), 60)}”${where ? ` in ${where}` : ""}${only ? ` · ${only}` : ""}`;
}

function modeOf(row: ToolRow): string {
  return textOf(row.display, "mode") || textOf(row.input, "output_mode") || "files_with_matches";
}

function inline(row: ToolRow): string {
  if (row.settled !== "completed") return "";
  const mode = modeOf(row);
  const files = numberOf(row.display, "numFiles");
  if (mode === "content") {
    const lines = numberOf(row.display, "numLines");
    return lines === null ? "" : `${plural(lines, "line")}${files ? ` in ${plural(files, "file")}` : ""}`;
  }
  const matches = numberOf(row.display, "numMatches");
  if (mode === "count" && matches !== null) return plural(matches, "match", "matches");
  return plural(files ?? foundFiles(row).length, "file");
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  if (hasFailed(row)) return <Problem row={row} />;
  if (!row.settled) return null;
  const content = modeOf(row) === "content";
  return (
    <Stack>
      {content ? (
        <Matches row={whole.row} full={full} />
      ) : (
        <Files row={whole.row} sessionId={sessionId} full={full} />
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Matches({ row, full }: { row: ToolRow; full: boolean }) {
  const { files, rest } = useMemo(() => matchesOf(row.output), [row.output]);
  const shown = full ? files.slice(0, 200) : files.slice(0, 8);
  const hidden = files.length - shown.length;
  if (files.length === 0) return <LongText text={rest.join("\n") || "No matches found."} most={40} />;
  return (
    <>
      {shown.map((file) => (
        <OneFile key={file.path} file={file} most={full ? 500 : 12} />
      ))}
      {hidden > 0 && (
        <p className="m-0 text-ink-3">{plural(hidden, "more file")}. Inspect the call to see all.</p>
      )}
      {rest.length > 0 && <LongText text={rest.join("\n")} most={5} />}
    </>
  );
}

function OneFile({ file, most }: { file: FileMatches; most: number }) {
  const label = (
    <>
      <span className="font-mono text-code text-ink-2">
        <VisibleText text={file.path} />
      </span>{" "}
      {file.hits > 0 && plural(file.hits, "match", "matches")}
    </>
  );
  return (
    <Section label={label}>
      <CodeGround>
        <FileText lines={file.lines} path={file.path} most={most} />
      </CodeGround>
    </Section>
  );
}

function Files({ row, sessionId, full }: CallProps & { full: boolean }) {
  const cwd = useSession(sessionId)?.cwd ?? "";
  const count = modeOf(row) === "count";
  const lines = count ? textOf(row.display, "content").split("\n").filter(Boolean) : foundFiles(row);
  if (lines.length === 0) return <p className="m-0 text-ink-3">No matches found.</p>;
  const inside = lines.map((path) => withinDirectory(path, cwd));
  return (
    <CodeGround copied={lines.join("\n")}>
      <LongText text={inside.join("\n")} most={full ? 2_000 : 30} />
    </CodeGround>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  const others = Object.entries(fieldsOf(input)).filter(([name]) => name !== "pattern");
  return (
    <Stack>
      <RequestField label="Search for" text={textOf(input, "pattern")} />
      {others.map(([name]) => (
        <RequestField key={name} label={name} text={textOf(input, name)} />
      ))}
    </Stack>
  );
}

export const grep: ToolView = {
  icon: "search",
  title,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  request: ApprovalRequest,
};
