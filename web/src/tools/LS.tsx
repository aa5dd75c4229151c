/** LS call: entries of a directory. */
import type { ToolRow } from "@/state/rows";
import { hasFailed, relativePath, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Output } from "./parts/Output";
import { Stack } from "./parts/Section";
import type { CallProps, ToolView } from "./view";

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  if (hasFailed(row)) return <Problem row={row} />;
  return (
    <Stack>
      {row.settled && <Output text={whole.row.output} label={textOf(row.input, "path")} full={full} />}
      <LoadAll whole={whole} />
    </Stack>
  );
}

export const ls: ToolView = {
  icon: "folder",
  title: (row: ToolRow, cwd?: string) =>
    `List ${relativePath(textOf(row.input, "path"), cwd) || "a directory"}`,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  request: ({ input }) => <RequestField label="List" text={textOf(input, "path")} />,
};
