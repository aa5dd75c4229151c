/** NotebookEdit call: a cell is changed, inserted or deleted. */
import { useMemo } from "react";
import { type DiffHunk, diffTexts } from "@/diff/lines";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { Counts, FileDiff } from "./parts/FileDiff";
import { fieldsOf, listOf, pathOf, relativePath, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { LoadAll } from "./parts/LoadAll";
import { Applied } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function modeOf(input: unknown): string {
  return textOf(input, "edit_mode") || "replace";
}

function noteOf(input: unknown): string {
  const cell = textOf(input, "cell_id");
  return `${modeOf(input)} cell${cell ? ` ${cell}` : ""}`;
}

/** A diff of the cell. The old source comes from the notebook's JSON, if that is complete. */
function hunksOf(input: unknown, display: unknown): DiffHunk[] {
  const mode = modeOf(input);
  const before =
    mode === "insert" ? "" : sourceOf(textOf(display, "original_file"), textOf(input, "cell_id"));
  return diffTexts(before, mode === "delete" ? "" : textOf(input, "new_source"));
}

function sourceOf(notebook: string, cell: string): string {
  if (!notebook || !cell) return "";
  try {
    const cells = listOf(JSON.parse(notebook), "cells").map(fieldsOf);
    const found = cells.find((each) => each.id === cell)?.source;
    return Array.isArray(found)
      ? found.filter((line) => typeof line === "string").join("")
      : textOf({ found }, "found");
  } catch {
    return "";
  }
}

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useFullCall(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const { input, display } = whole.row;
  const hunks = useMemo(() => hunksOf(input, display), [input, display]);
  const path = pathOf(row);
  return (
    <Stack>
      <FileDiff hunks={hunks} path={path} numbers most={most} cwd={cwd} />
      <Applied row={row} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  const hunks = useMemo(() => hunksOf(input, null), [input]);
  const path = textOf(input, "notebook_path");
  return (
    <FileDiff
      hunks={hunks}
      path={path}
      numbers
      note={noteOf(input)}
      most={Number.POSITIVE_INFINITY}
      counted
    />
  );
}

export const notebookEdit: ToolView = {
  icon: "edit",
  title: (row: ToolRow, cwd?: string) =>
    `Edit ${relativePath(pathOf(row), cwd) || "a notebook"} · ${noteOf(row.input)}`,
  inline: (row) => <Counts added={row.added} removed={row.removed} />,
  Body: (props) => <View {...props} most={200} />,
  Full: (props) => <View {...props} most={2_000} />,
  request: ApprovalRequest,
};
