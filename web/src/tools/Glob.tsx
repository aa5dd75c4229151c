/** Files found by the pattern of their path. */
import { useSession } from "@/state/app";
import type { ToolRow } from "@/state/rows";
import { fieldsOf, firstLine, hasFailed, insideOf, placeOf, textOf, textsOf } from "./parts/fields";
import { Asked } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Problem } from "./parts/Outcome";
import { Ground, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function title(row: ToolRow, cwd?: string): string {
  const path = placeOf(textOf(row.input, "path"), cwd);
  return `Find ${firstLine(textOf(row.input, "pattern")) || "files"}${path ? ` in ${path}` : ""}`;
}

/** Paths the tool told of, or else the lines of its answer that look like one. */
export function foundFiles(row: ToolRow): string[] {
  const told = textsOf(row.display, "filenames");
  if (told.length > 0) return told;
  return row.output.split("\n").filter((line) => line && !/^(\(|No files|Found |…)/.test(line));
}

function inline(row: ToolRow): string {
  if (row.settled !== "completed") return "";
  const more = fieldsOf(row.display).truncated === true ? "+" : "";
  const files = foundFiles(row).length;
  return `${files}${more} ${files === 1 && !more ? "file" : "files"}`;
}

function View({ row, sessionId, most }: CallProps & { most: number }) {
  const whole = useWhole(row, sessionId);
  const cwd = useSession(sessionId)?.cwd ?? "";
  if (hasFailed(row)) return <Problem row={row} />;
  const files = foundFiles(whole.row);
  const inside = files.map((path) => insideOf(path, cwd));
  return (
    <Stack>
      {files.length > 0 ? (
        <Ground copied={files.join("\n")}>
          <LongText text={inside.join("\n")} most={most} />
        </Ground>
      ) : (
        row.settled === "completed" && <p className="m-0 text-ink-3">No files found.</p>
      )}
      {fieldsOf(row.display).truncated === true && (
        <p className="m-0 text-small text-ink-3">There are more; the tool gave only these.</p>
      )}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  return (
    <Stack>
      <Asked label="Find files" text={textOf(input, "pattern")} />
      {textOf(input, "path") && <Asked label="In" text={textOf(input, "path")} />}
    </Stack>
  );
}

export const glob: ToolView = {
  icon: "folder",
  title,
  inline,
  Body: (props) => <View {...props} most={30} />,
  Full: (props) => <View {...props} most={2_000} />,
  asks: Asks,
};
