/** The hunks of one changed file, loaded when it is opened; what was accepted is folded away. */
import { useMemo, useState } from "react";
import { wordsOf } from "@/api/client";
import type { DiffFile, Hunk } from "@/api/types";
import { DiffView } from "@/diff/DiffView";
import { parseHunk } from "@/diff/lines";
import { useUi } from "@/state/ui";
import { plural } from "@/words/format";
import { type LineComment, useComments, useCommentsOf } from "../comments";
import { insteadOfHunks, modeWords } from "./fileWords";
import { HunkActions } from "./HunkActions";
import { digestOf, useReviewed } from "./reviewed";
import { useHunks } from "./useChanges";

/** Lines before one has to ask for more. */
const MOST_LINES = 600;

interface Props {
  sessionId: string;
  file: DiffFile;
  /** Side by side, where there is room for it. */
  roomy: boolean;
  /** Only to read: nothing can be said or done about it here. */
  plain?: boolean;
}

export function FileHunks({ sessionId, file: listed, roomy, plain = false }: Props) {
  const shape = `${listed.status}/${listed.added}/${listed.removed}/${listed.version ?? ""}`;
  const { data, error, isPending, refetch } = useHunks(sessionId, listed.path, shape);
  if (isPending) return <Words>Loading the changes</Words>;
  if (error && !data)
    return (
      <Words>
        {wordsOf(error)}{" "}
        <button type="button" className="underline" onClick={() => void refetch()}>
          Try again
        </button>
      </Words>
    );
  const file = data?.files.find((each) => each.path === listed.path);
  if (!file) return <Words>This file is as it was: nothing differs any more.</Words>;
  return <Shown sessionId={sessionId} file={file} roomy={roomy} plain={plain} />;
}

function Shown({ sessionId, file, roomy, plain = false }: Props) {
  const split = useUi((state) => state.diffSplit) && roomy;
  const hunks = file.hunks ?? [];
  const { left, accepted, all, setAll } = useAccepted(sessionId, file.path, hunks);
  const shown = useMemo(() => left.map((hunk) => ({ hunk, lines: parseHunk(hunk) })), [left]);
  const mine = useCommentsOf(sessionId);
  const comments = useMemo(() => mine.filter((each) => each.path === file.path), [mine, file.path]);
  const { add, remove } = useComments.getState();
  const instead = insteadOfHunks(file);
  const mode = modeWords(file);
  return (
    <>
      {mode && !instead && <Words>Its mode changed too: {mode}.</Words>}
      {instead && hunks.length === 0 && <Words>{instead}</Words>}
      {accepted > 0 && (
        <Words>
          {plural(accepted, "hunk accepted", "hunks accepted")}.{" "}
          <button type="button" className="underline" onClick={() => setAll(!all)}>
            {all ? "Hide" : "Show"}
          </button>
        </Words>
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
        <Words>File too large; only its beginning is shown. Open it under Files to see all of it.</Words>
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

export function Words({ children }: { children: React.ReactNode }) {
  return <p className="m-0 px-3 py-2 text-ink-2">{children}</p>;
}
