/** Glob call: files that match a pattern. */
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import {
  fieldsOf,
  firstLine,
  hasFailed,
  relativePath,
  textOf,
  textsOf,
  withinDirectory,
} from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Problem } from "./parts/Outcome";
import { CodeGround, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function title(row: ToolRow, cwd?: string): string {
  const path = relativePath(textOf(row.input, "path"), cwd);
  return `Find ${firstLine(textOf(row.input, "pattern")) || "files"}${path ? ` in ${path}` : ""}`;
}

/** The paths the tool reported, or else the lines of its output that look like paths. */
export function foundFiles(row: ToolRow): string[] {
  const reported = textsOf(row.display, "filenames");
  if (reported.length > 0) return reported;
  return row.output.split("\n").filter((line) => line && !/^(\(|No files|Found |…)/.test(line));
}

function inline(row: ToolRow): string {
  if (row.settled !== "completed") return "";
  const more = fieldsOf(row.display).truncated === true ? "+" : "";
  const files = foundFiles(row).length;
  return `${files}${more} ${files === 1 && !more ? "file" : "files"}`;
}

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useFullCall(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  if (hasFailed(row)) return <Problem row={row} />;
  const files = foundFiles(whole.row);
  const inside = files.map((path) => withinDirectory(path, cwd));
  return (
    <Stack>
      {files.length > 0 ? (
        <CodeGround copied={files.join("\n")}>
          <LongText text={inside.join("\n")} most={most} />
        </CodeGround>
      ) : (
        row.settled === "completed" && <p className="m-0 text-ink-3">No files found.</p>
      )}
      {fieldsOf(row.display).truncated === true && (
        <p className="m-0 text-small text-ink-3">The list is truncated.</p>
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  return (
    <Stack>
      <RequestField label="Find files" text={textOf(input, "pattern")} />
      {textOf(input, "path") && <RequestField label="In" text={textOf(input, "path")} />}
    </Stack>
  );
}

export const glob: ToolView = {
  icon: "folder",
  title,
  inline,
  Body: (props) => <View {...props} most={30} />,
  Full: (props) => <View {...props} most={2_000} />,
  request: ApprovalRequest,
};
