/** Changes panel: files and hunks since the session began, comments, worktree. */
import { type KeyboardEvent, lazy, Suspense, useMemo, useState } from "react";
import { errorMessage } from "@/api/client";
import type { DiffFile, SessionView } from "@/api/types";
import { plural } from "@/format/values";
import { useUi } from "@/state/ui";
import { Button, IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Icon } from "@/ui/Icon";
import { SegmentedControl } from "@/ui/SegmentedControl";
import { Select } from "@/ui/Select";
import { useCommentsOf } from "./comments";
import { FileRow } from "./diff/FileRow";
import { FileTree } from "./diff/FileTree";
import { totalOf } from "./diff/fileLabels";
import { inTreeOrder } from "./diff/order";
import { fileDigest, useReviewed } from "./diff/reviewed";
import { type Scope, useChanges } from "./diff/useChanges";
import { Counts } from "./PathName";
import { usePanelWidth } from "./usePanelWidth";

/** Loaded only for sessions that need them. */
const CommentTray = lazy(async () => ({ default: (await import("./diff/CommentTray")).CommentTray }));
const WorktreeBox = lazy(async () => ({ default: (await import("./worktree/WorktreeBox")).WorktreeBox }));

/** Files listed at first. */
const PAGE = 200;
/** Up to this many files are expanded initially. */
const FEW = 3;

export function DiffPanel({ session }: { session: SessionView }) {
  const scope = useUi((state) => state.diffScope);
  const { data, error, isFetching, refetch } = useChanges(session.id, scope);
  const room = usePanelWidth();
  const files = useMemo(() => inTreeOrder(data?.files ?? []), [data]);
  const commented = useCommentsOf(session.id).length > 0;
  return (
    <div ref={room.ref} className="flex h-full min-h-0 flex-col">
      {session.config.worktree && (
        <Suspense fallback={null}>
          <WorktreeBox session={session} />
        </Suspense>
      )}
      {data && (
        <Head
          session={session}
          files={files}
          total={data.total}
          roomy={room.width >= 640}
          busy={isFetching}
          onAgain={() => void refetch()}
        />
      )}
      {files.length > 0 ? (
        <Files key={session.id} session={session} files={files} total={data?.total ?? 0} width={room.width} />
      ) : (
        <NoChanges
          problem={error ? errorMessage(error) : ""}
          loading={!data && !error}
          scope={scope}
          elsewhere={data?.elsewhere ?? 0}
          onAgain={() => void refetch()}
        />
      )}
      {commented && (
        <Suspense fallback={null}>
          <CommentTray session={session} />
        </Suspense>
      )}
    </div>
  );
}

interface HeadProps {
  session: SessionView;
  files: DiffFile[];
  total: number;
  roomy: boolean;
  busy: boolean;
  onAgain: () => void;
}

function Head({ session, files, total, roomy, busy, onAgain }: HeadProps) {
  const split = useUi((state) => state.diffSplit);
  const reviewed = useReviewed((state) => state.hunks);
  const seen = files.filter((each) => reviewed[fileDigest(session.id, each)]).length;
  const set = useUi((state) => state.set);
  const { added, removed } = totalOf(files);
  return (
    <div className="hairline-b flex h-9 shrink-0 items-center gap-2 px-3 max-md:h-12">
      <ScopeMenu />
      <span className="truncate text-ink-2">
        {seen > 0 ? `${seen} of ${total} reviewed` : plural(total, "file")}
      </span>
      {files.length > 0 && <Counts added={added} removed={removed} />}
      <span className="flex-1" />
      <IconButton label="Refresh" disabled={busy} onClick={onAgain}>
        <Icon name="retry" size={14} />
      </IconButton>
      {roomy && (
        <SegmentedControl
          label="Diff layout"
          value={split ? "split" : "unified"}
          choices={[
            { value: "unified", label: "Unified" },
            { value: "split", label: "Split" },
          ]}
          onChange={(value) => set({ diffSplit: value === "split" })}
        />
      )}
    </div>
  );
}

const SCOPES: { value: Scope; label: string }[] = [
  { value: "session", label: "This session" },
  { value: "turn", label: "This turn" },
  { value: "all", label: "Everything in the directory" },
];

function ScopeMenu() {
  const scope = useUi((state) => state.diffScope);
  return (
    <div className="w-36 shrink-0">
      <Select
        label="Show changes of"
        value={scope}
        choices={SCOPES}
        onChange={(value) => useUi.getState().set({ diffScope: value })}
      />
    </div>
  );
}

interface FilesProps {
  session: SessionView;
  files: DiffFile[];
  total: number;
  width: number;
}

function Files({ session, files, total, width }: FilesProps) {
  const [open, setOpen] = useState<Record<string, boolean>>({});
  const [most, setMost] = useState(PAGE);
  const comments = useCommentsOf(session.id);
  const counted = useMemo(() => {
    const found = new Map<string, number>();
    for (const each of comments) found.set(each.path, (found.get(each.path) ?? 0) + 1);
    return found;
  }, [comments]);
  const toggle = (path: string, now: boolean) => setOpen((state) => ({ ...state, [path]: now }));
  const shown = files.slice(0, most);
  const goTo = (path: string) => {
    toggle(path, true);
    setMost((state) => Math.max(state, files.findIndex((each) => each.path === path) + 1));
    requestAnimationFrame(() => {
      const row = document.querySelector(`[data-file="${CSS.escape(path)}"]`);
      row?.scrollIntoView({ block: "start" });
      row?.querySelector<HTMLElement>("[data-file-head]")?.focus({ preventScroll: true });
    });
  };
  return (
    <div className="flex min-h-0 flex-1">
      {width >= 860 && files.length > 1 && <FileTree files={files} onChoose={goTo} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys only move between the buttons in it */}
      <div
        className="min-w-0 flex-1 overflow-auto"
        onKeyDown={(event) => {
          const path = nextFile(event, session.id, files);
          if (path) goTo(path);
          else moveBetweenHeads(event);
        }}
      >
        {shown.map((file) => (
          <FileRow
            key={file.path}
            sessionId={session.id}
            file={file}
            open={open[file.path] ?? (files.length <= FEW && (file.added ?? 0) + (file.removed ?? 0) < 400)}
            onToggle={(now) => toggle(file.path, now)}
            comments={counted.get(file.path) ?? 0}
            roomy={width >= 640}
          />
        ))}
        {files.length > most && (
          <p className="m-0 p-3">
            <Button onClick={() => setMost(most + PAGE)}>
              Show {plural(Math.min(PAGE, files.length - most), "more file", "more files")}
            </Button>
          </p>
        )}
        {total > files.length && (
          <p className="m-0 p-3 text-ink-2">
            {plural(total - files.length, "more file differs", "more files differ")}; the list is truncated.
          </p>
        )}
      </div>
    </div>
  );
}

/** N marks the focused file as reviewed and moves to the next unreviewed one; Shift+N moves back. */
function nextFile(event: KeyboardEvent<HTMLDivElement>, sessionId: string, files: DiffFile[]): string {
  const target = event.target as HTMLElement;
  if (event.key.toLowerCase() !== "n" || event.ctrlKey || event.metaKey || event.altKey) return "";
  if (target.matches("textarea, input:not([type=checkbox])")) return "";
  const at = files.findIndex(
    (each) => each.path === target.closest("[data-file]")?.getAttribute("data-file"),
  );
  const file = files[at];
  event.preventDefault();
  event.stopPropagation();
  if (event.shiftKey) return files[at - 1]?.path ?? "";
  const { hunks, mark } = useReviewed.getState();
  if (file) mark([fileDigest(sessionId, file)], true);
  const left = files.filter((each) => each !== file && !hunks[fileDigest(sessionId, each)]);
  return (left.find((each) => files.indexOf(each) > at) ?? left[0])?.path ?? "";
}

/** Up and Down move between file headers. */
function moveBetweenHeads(event: KeyboardEvent<HTMLDivElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const from = (event.target as HTMLElement).closest("[data-file-head]");
  if (!step || !from) return;
  const heads = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-file-head]")];
  heads[heads.indexOf(from as HTMLElement) + step]?.focus();
  event.preventDefault();
}

interface NothingProps {
  problem: string;
  loading: boolean;
  scope: Scope;
  elsewhere: number;
  onAgain: () => void;
}

function NoChanges({ problem, loading, scope, elsewhere, onAgain }: NothingProps) {
  if (loading) return <div className="flex-1" aria-busy="true" />;
  const again = <Button onClick={onAgain}>Refresh</Button>;
  if (!problem && scope !== "all" && elsewhere > 0)
    return (
      <div className="min-h-0 flex-1">
        <Empty
          title={scope === "turn" ? "No changes in this turn" : "No changes by this session"}
          action={<Button onClick={() => useUi.getState().set({ diffScope: "all" })}>Show everything</Button>}
        >
          {plural(elsewhere, "other file differs", "other files differ")} in this directory.
        </Empty>
      </div>
    );
  if (problem)
    return (
      <div className="min-h-0 flex-1">
        <Empty title="Changes cannot be shown here" action={again}>
          {problem}
        </Empty>
      </div>
    );
  return (
    <div className="min-h-0 flex-1">
      <Empty title="No changes" action={again}>
        Files the agent writes appear here as it writes them, compared with the commit the session began from.
        Point at a line to comment on it.
      </Empty>
    </div>
  );
}
