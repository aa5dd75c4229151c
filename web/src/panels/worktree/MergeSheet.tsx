/** Merge dialog of a worktree: preview and merge strategy. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "@/api/client";
import type { SessionView, WorktreeState } from "@/api/types";
import { plural } from "@/format/values";
import { showError } from "@/state/actions";
import { Button } from "@/ui/Button";
import { SegmentedControl } from "@/ui/SegmentedControl";
import { Sheet } from "@/ui/Sheet";
import { toast } from "@/ui/toast";
import { VisibleText } from "@/ui/VisibleText";
import { statusLabel, totalOf } from "../diff/fileLabels";
import { useChanges } from "../diff/useChanges";
import { Counts, PathName } from "../PathName";

type Strategy = "merge" | "squash" | "fast_forward";

const STRATEGIES: { value: Strategy; label: string; about: string }[] = [
  { value: "merge", label: "Merge", about: "Keeps all commits and adds a merge commit." },
  { value: "squash", label: "Squash", about: "Combines everything into one commit." },
  {
    value: "fast_forward",
    label: "Fast-forward",
    about: "Moves the branch forward; only if the target has no new commits.",
  },
];

interface Props {
  session: SessionView;
  state: WorktreeState;
  open: boolean;
  onClose: () => void;
}

export function MergeSheet({ session, state, open, onClose }: Props) {
  const queries = useQueryClient();
  const [strategy, setStrategy] = useState<Strategy>("merge");
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);
  const merge = async () => {
    setBusy(true);
    try {
      const body = { strategy, message: message.trim() };
      const done = await unwrap(
        api.POST("/sessions/{id}/worktree/merge", { params: { path: { id: session.id } }, body }),
      );
      queries.setQueryData(["worktree", session.id], done.worktree);
      toast(`Merged into ${state.target || "the project"} as ${done.commit.slice(0, 10)}.`);
      onClose();
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  const blocked = state.conflicts.length > 0 || (strategy === "fast_forward" && state.behind > 0);
  return (
    <Sheet
      open={open}
      onClose={onClose}
      title={`Merge back into ${state.target || "the project"}`}
      about={`${plural(state.ahead, "commit")} of this worktree. Nothing changes if there are conflicts.`}
      footer={
        <>
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" disabled={busy || blocked} onClick={() => void merge()}>
            Merge
          </Button>
        </>
      }
    >
      <div className="space-y-3 p-4">
        <SegmentedControl
          label="Merge strategy"
          value={strategy}
          choices={STRATEGIES.map(({ value, label }) => ({ value, label }))}
          onChange={setStrategy}
        />
        <p className="m-0 text-ink-2">{STRATEGIES.find((each) => each.value === strategy)?.about}</p>
        {strategy !== "fast_forward" && (
          <textarea
            aria-label="Merge message"
            placeholder="Merge message; default message if empty"
            rows={2}
            value={message}
            onChange={(event) => setMessage(event.target.value)}
            className="w-full resize-y rounded-box border border-line bg-surface-0 px-2 py-1"
          />
        )}
        <Warnings state={state} strategy={strategy} />
        <Preview sessionId={session.id} />
      </div>
    </Sheet>
  );
}

function Warnings({ state, strategy }: { state: WorktreeState; strategy: Strategy }) {
  return (
    <>
      {state.dirty.length > 0 && (
        <p className="m-0 text-needs">
          ◆ {plural(state.dirty.length, "file is", "files are")} not committed and will not be merged. Commit
          first to include them.
        </p>
      )}
      {state.conflicts.length > 0 && (
        <p role="alert" className="m-0 text-failed">
          ✗ {plural(state.conflicts.length, "file conflicts", "files conflict")}. Ask the agent to merge{" "}
          {state.target || "the project"} and resolve them first.
        </p>
      )}
      {strategy === "fast_forward" && state.behind > 0 && (
        <p role="alert" className="m-0 text-failed">
          ✗ {state.target || "The project"} has {plural(state.behind, "new commit")}: choose Merge or Squash.
        </p>
      )}
    </>
  );
}

function Preview({ sessionId }: { sessionId: string }) {
  const { data } = useChanges(sessionId);
  if (!data) return null;
  const { added, removed } = totalOf(data.files);
  return (
    <section aria-label="Preview">
      <p className="m-0 flex gap-2 text-ink-2">
        Preview: {plural(data.total, "file")} <Counts added={added} removed={removed} />
      </p>
      <ul className="m-0 max-h-64 list-none overflow-auto p-0">
        {data.files.slice(0, 200).map((file) => (
          <li key={file.path} className="flex h-7 items-center gap-2">
            <span className={`w-3 font-mono text-small ${statusLabel(file).colour}`}>
              {statusLabel(file).letter}
            </span>
            <PathName path={file.path} className="flex-1" />
            <Counts added={file.added ?? 0} removed={file.removed ?? 0} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export function BranchName({ name }: { name: string }) {
  return (
    <bdi className="font-mono text-code">
      <VisibleText text={name} />
    </bdi>
  );
}
