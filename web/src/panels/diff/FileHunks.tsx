/** Hunks of a changed file, loaded when it is expanded; accepted hunks are hidden. */
import { useMemo, useState } from "react";
import { errorMessage } from "@/api/client";
import type { DiffFile, Hunk } from "@/api/types";
import { DiffView } from "@/diff/DiffView";
import { parseHunk } from "@/diff/lines";
import { plural } from "@/format/values";
import { useUi } from "@/state/ui";
import { type LineComment, useComments, useCommentsOf } from "../comments";
import { modeText, noHunksText } from "./fileLabels";
import { HunkActions } from "./HunkActions";
import { digestOf, useReviewed } from "./reviewed";
import { useHunks } from "./useChanges";

/** Lines shown at first. */
const MOST_LINES = 600;

interface Props {
  sessionId: string;
  file: DiffFile;
  /** Wide enough for side by side. */
  roomy: boolean;
  /** Read-only: no comments and no actions. */
  plain?: boolean;
}

export function FileHunks({ sessionId, file: listed, roomy, plain = false }: Props) {
  const shape = `${listed.status}/${listed.added}/${listed.removed}/${listed.version ?? ""}`;
  const { data, error, isPending, refetch } = useHunks(sessionId, listed.path, shape);
  if (isPending) return <Note>Loading changes</Note>;
  if (error && !data)
    return (
      <Note>
        {errorMessage(error)}{" "}
        <button type="button" className="underline" onClick={() => void refetch()}>
          Try again
        </button>
      </Note>
    );
  const file = data?.files.find((each) => each.path === listed.path);
  if (!file) return <Note>This file no longer differs.</Note>;
  return <HunkList sessionId={sessionId} file={file} roomy={roomy} plain={plain} />;
}

function HunkList({ sessionId, file, roomy, plain = false }: Props) {
  const split = useUi((state) => state.diffSplit) && roomy;
  const hunks = file.hunks ?? [];
  const { left, accepted, all, setAll } = useAccepted(sessionId, file.path, hunks);
  const shown = useMemo(() => left.map((hunk) => ({ hunk, lines: parseHunk(hunk) })), [left]);
  const mine = useCommentsOf(sessionId);
  const comments = useMemo(() => mine.filter((each) => each.path === file.path), [mine, file.path]);
  const { add, remove } = useComments.getState();
  const instead = noHunksText(file);
  const mode = modeText(file);
  return (
    <>
      {mode && !instead && <Note>Its mode changed too: {mode}.</Note>}
      {instead && hunks.length === 0 && <Note>{instead}</Note>}
      {accepted > 0 && (
        <Note>
          {plural(accepted, "hunk accepted", "hunks accepted")}.{" "}
          <button type="button" className="underline" onClick={() => setAll(!all)}>
            {all ? "Hide" : "Show"}
          </button>
        </Note>
      )}
      <DiffView
        hunks={shown.map((each) => each.lines)}
        path={file.path}
        split={split}
        {...(plain
          ? {}
          : {
              comments,
              onComment: (line) => add(sessionId, { path: file.path, ...line }),
              onRemoveComment: (comment) => remove(sessionId, (comment as LineComment).id),
              renderHunkActions: (_, index) => {
                const hunk = shown[index]?.hunk;
                return hunk && <HunkActions sessionId={sessionId} file={file} hunk={hunk} />;
              },
            })}
        maxLines={MOST_LINES}
      />
      {file.truncated && (
        <Note>File too large; only its beginning is shown. Open it under Files to see all of it.</Note>
      )}
    </>
  );
}

function useAccepted(sessionId: string, path: string, hunks: readonly Hunk[]) {
  const reviewed = useReviewed((state) => state.hunks);
  const [all, setAll] = useState(false);
  const left = useMemo(
    () => hunks.filter((hunk) => all || !reviewed[digestOf(sessionId, path, hunk.sha256)]),
    [hunks, all, reviewed, sessionId, path],
  );
  const accepted = hunks.filter((hunk) => reviewed[digestOf(sessionId, path, hunk.sha256)]).length;
  return { left, accepted, all, setAll };
}

export function Note({ children }: { children: React.ReactNode }) {
  return <p className="m-0 px-3 py-2 text-ink-2">{children}</p>;
}
