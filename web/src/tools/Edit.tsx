/** Edit and MultiEdit calls: a diff of the file. */
import { useMemo } from "react";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { everyOccurrenceText, reportedChanges, requestedEdits } from "./parts/edits";
import { Counts, FileDiff } from "./parts/FileDiff";
import { pathOf, relativePath, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { LoadAll } from "./parts/LoadAll";
import { Applied } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useFullCall(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const { input, display } = whole.row;
  const changes = useMemo(() => reportedChanges(display) ?? requestedEdits(input), [input, display]);
  const note = everyOccurrenceText(input).replace(" · ", "");
  return (
    <Stack>
      <FileDiff {...changes} path={pathOf(row)} note={note} most={most} cwd={cwd} />
      <Applied row={row} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  const changes = useMemo(() => requestedEdits(input), [input]);
  const path = textOf(input, "file_path", "path");
  return (
    <FileDiff
      {...changes}
      path={path}
      note={everyOccurrenceText(input).replace(" · ", "")}
      most={Number.POSITIVE_INFINITY}
      counted
    />
  );
}

export const edit: ToolView = {
  icon: "edit",
  title: (row: ToolRow, cwd?: string) => `Edit ${relativePath(pathOf(row), cwd) || "a file"}`,
  inline: (row) => <Counts added={row.added} removed={row.removed} />,
  Body: (props) => <View {...props} most={200} />,
  Full: (props) => <View {...props} most={2_000} />,
  request: ApprovalRequest,
};
