/** Accept or reject a hunk. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "@/api/client";
import type { DiffFile, Hunk } from "@/api/types";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { toast } from "@/ui/toast";
import { digestOf, fileDigest, useReviewed } from "./reviewed";

/** How long Undo is offered. */
const UNDO_MS = 15_000;

interface Props {
  sessionId: string;
  file: DiffFile;
  hunk: Hunk;
}

export function HunkActions({ sessionId, file, hunk }: Props) {
  const digest = digestOf(sessionId, file.path, hunk.sha256);
  const seen = useReviewed((state) => state.hunks[digest] === true);
  const mark = useReviewed((state) => state.mark);
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const { reject, busy } = useReject(sessionId);
  return (
    <span className="inline-flex items-center gap-1">
      <Button
        look="quiet"
        className={`h-6 px-1.5 text-small ${seen ? "text-done" : ""}`}
        aria-pressed={seen}
        icon={<Icon name="check" size={14} />}
        onClick={() => {
          mark([digest], !seen);
          mark([fileDigest(sessionId, file)], !seen && isLast(sessionId, file, digest));
        }}
      >
        {seen ? "Accepted" : "Accept"}
      </Button>
      {allowed && file.rejectable && (
        <Button
          look="quiet"
          className="h-6 px-1.5 text-small"
          disabled={busy}
          icon={<Icon name="retry" size={14} />}
          tooltip={isNew(file) ? "Delete this new file" : "Revert this change"}
          onClick={() => void reject(file, isNew(file) ? null : hunk)}
        >
          Reject
        </Button>
      )}
    </span>
  );
}

/** A new file can only be rejected as a whole. */
function isNew(file: DiffFile): boolean {
  return file.status === "untracked" || file.status === "added";
}

/** Whether all other hunks of the file are accepted. */
function isLast(sessionId: string, file: DiffFile, digest: string): boolean {
  const { hunks } = useReviewed.getState();
  const all = (file.hunks ?? []).map((each) => digestOf(sessionId, file.path, each.sha256));
  return !file.truncated && all.every((each) => each === digest || hunks[each]);
}

async function undo(sessionId: string, token: string, queries: QueryClient): Promise<void> {
  try {
    const done = await unwrap(
      api.POST("/sessions/{id}/diff/undo", { params: { path: { id: sessionId } }, body: { undo: token } }),
    );
    toast(`Restored ${done.paths[0] ?? ""}`);
  } catch (error) {
    showError(error);
  }
  await queries.invalidateQueries({ queryKey: ["diff", sessionId] });
}

export function useReject(sessionId: string) {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const reject = async (file: DiffFile, hunk: Hunk | null): Promise<void> => {
    setBusy(true);
    try {
      const body = {
        path: file.path,
        base: "",
        hunk: hunk && rangeOf(hunk),
        sha256: hunk?.sha256 ?? "",
        version: hunk ? "" : (file.version ?? ""),
      };
      const done = await unwrap(
        api.POST("/sessions/{id}/diff/reject", { params: { path: { id: sessionId } }, body }),
      );
      const message = isNew(file)
        ? `Deleted ${file.path}`
        : hunk
          ? `Reverted 1 change in ${file.path}`
          : `Reverted ${file.path}`;
      toast(message, {
        duration: UNDO_MS,
        action: { label: "Undo", onClick: () => void undo(sessionId, done.undo ?? "", queries) },
      });
    } catch (error) {
      showError(error);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ["diff", sessionId] });
  };
  return { reject, busy };
}

function rangeOf({ old_start, old_lines, new_start, new_lines }: Hunk) {
  return { old_start, old_lines, new_start, new_lines };
}
