/** A file that is written whole: as a diff against what was there, or against nothing. */
import { useMemo } from "react";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { askedContent, toldChanges } from "./parts/edits";
import { Counts, FileDiff } from "./parts/FileDiff";
import { lineCount, pathOf, placeOf, textOf } from "./parts/fields";
import { LoadAll } from "./parts/LoadAll";
import { Applied } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useWhole(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const { input, display } = whole.row;
  const told = useMemo(() => toldChanges(display), [display]);
  const changes = useMemo(() => told ?? askedContent(input), [told, input]);
  const kind = textOf(display, "type");
  return (
    <Stack>
      <FileDiff
        {...changes}
        path={pathOf(row)}
        note={kind === "create" ? "new file" : told ? "" : "whole file"}
        most={most}
        cwd={cwd}
      />
      <Applied row={row} word={kind === "create" ? "Created" : "Applied"} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  const changes = useMemo(() => askedContent(input), [input]);
  const path = textOf(input, "file_path", "path");
  return <FileDiff {...changes} path={path} note="the whole file" most={Number.POSITIVE_INFINITY} counted />;
}

function inline(row: ToolRow) {
  const told = row.added > 0 || row.removed > 0;
  const asked = lineCount(textOf(row.input, "content")) + row.missing.input.lines;
  return <Counts added={told ? row.added : asked} removed={row.removed} />;
}

export const write: ToolView = {
  icon: "file",
  title: (row: ToolRow, cwd?: string) => `Write ${placeOf(pathOf(row), cwd) || "a file"}`,
  inline,
  Body: (props) => <View {...props} most={60} />,
  Full: (props) => <View {...props} most={2_000} />,
  asks: Asks,
};
