/** Write call: a diff against the previous content, or a new file. */
import { useMemo } from "react";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { reportedChanges, requestedContent } from "./parts/edits";
import { Counts, FileDiff } from "./parts/FileDiff";
import { lineCount, pathOf, relativePath, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { LoadAll } from "./parts/LoadAll";
import { Applied } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useFullCall(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const { input, display } = whole.row;
  const reported = useMemo(() => reportedChanges(display), [display]);
  const changes = useMemo(() => reported ?? requestedContent(input), [reported, input]);
  const kind = textOf(display, "type");
  return (
    <Stack>
      <FileDiff
        {...changes}
        path={pathOf(row)}
        note={kind === "create" ? "new file" : reported ? "" : "whole file"}
        most={most}
        cwd={cwd}
      />
      <Applied row={row} word={kind === "create" ? "Created" : "Applied"} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  const changes = useMemo(() => requestedContent(input), [input]);
  const path = textOf(input, "file_path", "path");
  return <FileDiff {...changes} path={path} note="the whole file" most={Number.POSITIVE_INFINITY} counted />;
}

function inline(row: ToolRow) {
  const reported = row.added > 0 || row.removed > 0;
  const asked = lineCount(textOf(row.input, "content")) + row.missing.input.lines;
  return <Counts added={reported ? row.added : asked} removed={row.removed} />;
}

export const write: ToolView = {
  icon: "file",
  title: (row: ToolRow, cwd?: string) => `Write ${relativePath(pathOf(row), cwd) || "a file"}`,
  inline,
  Body: (props) => <View {...props} most={60} />,
  Full: (props) => <View {...props} most={2_000} />,
  request: ApprovalRequest,
};
