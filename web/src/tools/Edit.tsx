/** A change in a file: what goes and what comes, word by word (S000-76, S000-77). MultiEdit makes several at once. */
import { useMemo } from "react";
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { askedEdits, everyWords, toldChanges } from "./parts/edits";
import { Counts, FileDiff } from "./parts/FileDiff";
import { pathOf, placeOf, textOf } from "./parts/fields";
import { LoadAll } from "./parts/LoadAll";
import { Applied } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useWhole(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  const { input, display } = whole.row;
  const changes = useMemo(() => toldChanges(display) ?? askedEdits(input), [input, display]);
  const note = everyWords(input).replace(" · ", "");
  return (
    <Stack>
      <FileDiff {...changes} path={pathOf(row)} note={note} most={most} cwd={cwd} />
      <Applied row={row} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  const changes = useMemo(() => askedEdits(input), [input]);
  const path = textOf(input, "file_path", "path");
  return (
    <FileDiff
      {...changes}
      path={path}
      note={everyWords(input).replace(" · ", "")}
      most={Number.POSITIVE_INFINITY}
      counted
    />
  );
}

export const edit: ToolView = {
  icon: "edit",
  title: (row: ToolRow, cwd?: string) => `Edit ${placeOf(pathOf(row), cwd) || "a file"}`,
  inline: (row) => <Counts added={row.added} removed={row.removed} />,
  Body: (props) => <View {...props} most={200} />,
  Full: (props) => <View {...props} most={2_000} />,
  asks: Asks,
};
