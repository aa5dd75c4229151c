/** What can be done with one hunk: tick it off, or take it back. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, said } from "@/api/client";
import type { DiffFile, Hunk } from "@/api/types";
import { complain } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { toast } from "@/ui/toast";
import { digestOf, useReviewed } from "./reviewed";

interface Props {
  sessionId: string;
  file: DiffFile;
  hunk: Hunk;
}

export function HunkActions({ sessionId, file, hunk }: Props) {
  const digest = digestOf(sessionId, file.path, hunk.sha256);
  const seen = useReviewed((state) => state.hunks[digest] === true);
  const mark = useReviewed((state) => state.mark);
  const allowed = useApp((state) => may(state.me, "operate"));
  const { reject, busy } = useReject(sessionId);
  return (
    <span className="inline-flex items-center gap-1">
      <Button
        look="quiet"
        className={`h-6 px-1.5 text-small ${seen ? "text-done" : ""}`}
        aria-pressed={seen}
        icon={<Icon name="check" size={14} />}
        onClick={() => mark([digest], !seen)}
      >
        {seen ? "Accepted" : "Accept"}
      </Button>
      {allowed && file.rejectable && (
        <Button
          look="quiet"
          className="h-6 px-1.5 text-small"
          disabled={busy}
          icon={<Icon name="retry" size={14} />}
          tip="Take this part back to how it was. A copy of the file is kept."
          onClick={() => void reject(file, hunk)}
        >
          Reject
        </Button>
      )}
    </span>
  );
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
        hunk: hunk && placeOf(hunk),
        sha256: hunk?.sha256 ?? "",
        version: hunk ? "" : (file.version ?? ""),
      };
      const done = await said(
        api.POST("/sessions/{id}/diff/reject", { params: { path: { id: sessionId } }, body }),
      );
      toast(hunk ? `Took a part of ${file.path} back.` : `Took ${file.path} back.`, {
        description: done.kept ? `A copy of the file before this is in ${done.kept}` : undefined,
      });
    } catch (error) {
      complain(error);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ["diff", sessionId] });
  };
  return { reject, busy };
}

function placeOf({ old_start, old_lines, new_start, new_lines }: Hunk) {
  return { old_start, old_lines, new_start, new_lines };
}
