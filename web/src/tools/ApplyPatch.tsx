/** ApplyPatch call: a diff of each file the patch touches. */
import { useMemo } from "react";
import { parsePatch } from "@/diff/lines";
import { plural } from "@/format/values";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { Counts, FileDiff } from "./parts/FileDiff";
import { fieldsOf, listOf, relativePath, textOf, withinDirectory } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Applied } from "./parts/Outcome";
import { CodeGround, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

const SECTION = /^\*\*\* (?:Add|Delete|Update) File:[ \t]*(\S.*?)[ \t]*$/gm;
const MOST_FILES = 50;

function patchedPaths(row: ToolRow): string[] {
  const reported = listOf(row.display, "files").map((file) => textOf(file, "filePath"));
  const requested = [...textOf(row.input, "input").matchAll(SECTION)].map((found) => found[1] ?? "");
  return (reported.length > 0 ? reported : requested).filter(Boolean);
}

function noteOf(file: unknown, cwd: string): string {
  switch (textOf(file, "type")) {
    case "create":
      return "new file";
    case "delete":
      return "deleted";
    case "move":
      return `moved from ${withinDirectory(textOf(file, "movedFrom"), cwd)}`;
    default:
      return "";
  }
}

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useFullCall(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const { input, display } = whole.row;
  const files = useMemo(() => listOf(display, "files").map(fieldsOf), [display]);
  const patch = textOf(input, "input");
  return (
    <Stack>
      {files.slice(0, MOST_FILES).map((file, index) => (
        <FileDiff
          // biome-ignore lint/suspicious/noArrayIndexKey: the list of a finished call does not change
          key={index}
          hunks={parsePatch(file.structuredPatch)}
          numbers
          path={textOf(file, "filePath")}
          note={noteOf(file, cwd)}
          most={most}
          cwd={cwd}
        />
      ))}
      {files.length > MOST_FILES && (
        <p className="m-0 text-ink-3">And {plural(files.length - MOST_FILES, "more file")}.</p>
      )}
      {files.length === 0 && patch && (
        <CodeGround copied={patch}>
          <LongText text={patch} most={most} />
        </CodeGround>
      )}
      <Applied row={row} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  return <Literal label="Patch" text={textOf(input, "input")} />;
}

function title(row: ToolRow, cwd?: string): string {
  const paths = patchedPaths(row);
  const first = relativePath(paths[0] ?? "", cwd);
  if (!first) return "Patch files";
  return paths.length > 1 ? `Patch ${first} and ${plural(paths.length - 1, "more file")}` : `Patch ${first}`;
}

export const applyPatch: ToolView = {
  icon: "edit",
  title,
  inline: (row) => <Counts added={row.added} removed={row.removed} />,
  Body: (props) => <View {...props} most={200} />,
  Full: (props) => <View {...props} most={2_000} />,
  request: ApprovalRequest,
};
