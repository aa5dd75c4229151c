/** Worktree of a session: branch, status, commit, merge and remove. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { SessionView, WorktreeState } from "@/api/types";
import { plural } from "@/format/values";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Tooltip } from "@/ui/Tooltip";
import { toast } from "@/ui/toast";
import { VisibleText } from "@/ui/VisibleText";
import { MergeSheet } from "./MergeSheet";
import { RemoveSheet } from "./RemoveSheet";

export function WorktreeBox({ session }: { session: SessionView }) {
  const { data, error, refetch } = useWorktree(session.id);
  const [sheet, setSheet] = useState<"" | "commit" | "merge" | "remove">("");
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  return (
    <section aria-label="Worktree" className="hairline-b shrink-0 px-3 py-2">
      <div className="flex min-h-7 items-center gap-2">
        <Icon name="branch" size={14} className="text-ink-3" />
        <bdi className="min-w-0 flex-1 truncate font-mono text-code" title={session.config.branch}>
          <VisibleText text={session.config.branch || data?.branch || "worktree"} />
        </bdi>
        {data && <WorktreeStatus state={data} />}
      </div>
      {error && (
        <p className="m-0 text-ink-2">
          {errorMessage(error)}{" "}
          <button type="button" className="underline" onClick={() => void refetch()}>
            Try again
          </button>
        </p>
      )}
      {data && <Conflicts state={data} />}
      {data && allowed && (
        <div className="mt-1 flex flex-wrap gap-1">
          <Button
            className="h-6 px-2 text-small"
            disabled={data.dirty.length === 0}
            onClick={() => setSheet(sheet === "commit" ? "" : "commit")}
            aria-expanded={sheet === "commit"}
          >
            Commit
          </Button>
          <Button
            className="h-6 px-2 text-small"
            disabled={data.ahead === 0}
            onClick={() => setSheet("merge")}
          >
            Merge back
          </Button>
          <Button look="quiet" className="h-6 px-2 text-small" onClick={() => setSheet("remove")}>
            Remove
          </Button>
        </div>
      )}
      {data && sheet === "commit" && (
        <CommitForm session={session} state={data} onDone={() => setSheet("")} />
      )}
      {data && (
        <MergeSheet session={session} state={data} open={sheet === "merge"} onClose={() => setSheet("")} />
      )}
      {data && (
        <RemoveSheet session={session} state={data} open={sheet === "remove"} onClose={() => setSheet("")} />
      )}
    </section>
  );
}

function useWorktree(sessionId: string) {
  return useQuery({
    queryKey: ["worktree", sessionId],
    queryFn: () => unwrap(api.GET("/sessions/{id}/worktree", { params: { path: { id: sessionId } } })),
  });
}

function WorktreeStatus({ state }: { state: WorktreeState }) {
  const target = state.target || "the project";
  return (
    <span className="tabular flex shrink-0 items-center gap-2 text-small text-ink-2">
      {state.dirty.length > 0 && (
        <Tooltip text={`${plural(state.dirty.length, "file is", "files are")} uncommitted`}>
          <span className="text-needs">{state.dirty.length} not committed</span>
        </Tooltip>
      )}
      <Tooltip text={`${plural(state.ahead, "commit")} ahead of ${target}`}>
        <span>
          <span aria-hidden="true">↑{state.ahead}</span>
          <span className="sr-only">{state.ahead} ahead</span>
        </span>
      </Tooltip>
      <Tooltip text={`${plural(state.behind, "commit")} behind ${target}`}>
        <span>
          <span aria-hidden="true">↓{state.behind}</span>
          <span className="sr-only">{state.behind} behind</span>
        </span>
      </Tooltip>
      {state.merged && state.head !== state.base && <span className="text-done">✓ merged</span>}
    </span>
  );
}

function Conflicts({ state }: { state: WorktreeState }) {
  if (state.conflicts.length === 0) return null;
  return (
    <details className="mt-1 text-failed">
      <summary>
        ✗ {plural(state.conflicts.length, "file")} would conflict with {state.target || "the project"}
      </summary>
      <ul className="m-0 list-none p-0 pl-4 font-mono text-code text-ink-1">
        {state.conflicts.map((path) => (
          <li key={path} className="truncate">
            <bdi>
              <VisibleText text={path} />
            </bdi>
          </li>
        ))}
      </ul>
      <p className="m-0 text-ink-2">
        A merge is not possible. Ask the agent to merge {state.target || "the project"} and resolve them.
      </p>
    </details>
  );
}

function CommitForm({
  session,
  state,
  onDone,
}: {
  session: SessionView;
  state: WorktreeState;
  onDone: () => void;
}) {
  const queries = useQueryClient();
  const [message, setMessage] = useState(() => session.title || session.first_prompt.split("\n")[0] || "");
  const [busy, setBusy] = useState(false);
  const commit = async () => {
    setBusy(true);
    try {
      const done = await unwrap(
        api.POST("/sessions/{id}/worktree/commit", {
          params: { path: { id: session.id } },
          body: { message: message.trim() },
        }),
      );
      queries.setQueryData(["worktree", session.id], done.worktree);
      void queries.invalidateQueries({ queryKey: ["diff", session.id] });
      toast(`Committed as ${done.commit.slice(0, 10)}.`);
      onDone();
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  return (
    <form
      className="mt-2 flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void commit();
      }}
    >
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the user has just asked to write it, and shortcuts would act otherwise
        autoFocus
        aria-label="Commit message"
        rows={2}
        onFocus={(event) => event.target.select()}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") onDone();
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey))
            event.currentTarget.form?.requestSubmit();
        }}
        value={message}
        onChange={(event) => setMessage(event.target.value)}
        className="w-full resize-y rounded-box border border-line bg-surface-0 px-2 py-1"
      />
      <div className="flex items-center gap-2">
        <span className="flex-1 text-small text-ink-3">
          All changes: {plural(state.dirty.length, "file")}
        </span>
        <Button look="quiet" onClick={onDone}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={busy || !message.trim()}>
          Commit
        </Button>
      </div>
    </form>
  );
}
