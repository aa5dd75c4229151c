/** Dialog to remove a worktree: what is lost and what stays. */
import { useState } from "react";
import { api } from "@/api/client";
import type { SessionView, WorktreeState } from "@/api/types";
import { plural } from "@/format/values";
import { showError } from "@/state/actions";
import { Button } from "@/ui/Button";
import { Sheet } from "@/ui/Sheet";
import { toast } from "@/ui/toast";
import { BranchName } from "./MergeSheet";

interface Props {
  session: SessionView;
  state: WorktreeState;
  open: boolean;
  onClose: () => void;
}

export function RemoveSheet({ session, state, open, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  const [lose, setLose] = useState(false);
  const dirty = state.dirty.length;
  const remove = async () => {
    setBusy(true);
    try {
      const params = { path: { id: session.id }, query: { force: dirty > 0 && lose } };
      await api.DELETE("/sessions/{id}/worktree", { params });
      toast("Worktree removed.");
      onClose();
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  return (
    <Sheet
      open={open}
      onClose={onClose}
      title="Remove worktree"
      footer={
        <>
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button look="danger" disabled={busy || (dirty > 0 && !lose)} onClick={() => void remove()}>
            Remove
          </Button>
        </>
      }
    >
      <div className="space-y-2 p-4">
        <p className="m-0">
          Its directory is deleted. The session and its transcript are kept.{" "}
          {state.ahead > 0 && !state.merged ? (
            <>
              The branch <BranchName name={state.branch} /> keeps its {plural(state.ahead, "commit")}.
            </>
          ) : (
            <>
              The branch <BranchName name={state.branch} /> is deleted, too: it is fully merged.
            </>
          )}
        </p>
        {dirty > 0 && (
          <label className="flex items-center gap-2 text-failed">
            <input type="checkbox" checked={lose} onChange={(event) => setLose(event.target.checked)} />
            Discard {plural(dirty, "uncommitted file")}
          </label>
        )}
      </div>
    </Sheet>
  );
}
