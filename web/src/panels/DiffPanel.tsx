/** What a session changed against where it began: files, hunks, comments on lines, and the work tree they are in. */
import { type KeyboardEvent, lazy, Suspense, useMemo, useState } from "react";
import { wordsOf } from "@/api/client";
import type { DiffFile, SessionView } from "@/api/types";
import { useUi } from "@/state/ui";
import { Button, IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Icon } from "@/ui/Icon";
import { Segments } from "@/ui/Segments";
import { plural } from "@/words/format";
import { useCommentsOf } from "./comments";
import { FileRow } from "./diff/FileRow";
import { FileTree } from "./diff/FileTree";
import { totalOf } from "./diff/fileWords";
import { useChanges } from "./diff/useChanges";
import { Counts } from "./PathName";
import { useRoom } from "./room";

/** Parts that not every session has. */
const CommentTray = lazy(async () => ({ default: (await import("./diff/CommentTray")).CommentTray }));
const WorktreeBox = lazy(async () => ({ default: (await import("./worktree/WorktreeBox")).WorktreeBox }));

/** Files in the list before one has to ask for more. */
const PAGE = 200;
/** So few are open from the beginning. */
const FEW = 3;

export function DiffPanel({ session }: { session: SessionView }) {
  const { data, error, isFetching, refetch } = useChanges(session.id);
  const room = useRoom();
  const files = data?.files ?? [];
  const commented = useCommentsOf(session.id).length > 0;
  return (
    <div ref={room.place} className="flex h-full min-h-0 flex-col">
      {session.config.worktree && (
        <Suspense fallback={null}>
          <WorktreeBox session={session} />
        </Suspense>
      )}
      {data && files.length > 0 && (
        <Head
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
        <Nothing
          problem={error ? wordsOf(error) : ""}
          loading={!data && !error}
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
  files: DiffFile[];
  total: number;
  roomy: boolean;
  busy: boolean;
  onAgain: () => void;
}

function Head({ files, total, roomy, busy, onAgain }: HeadProps) {
  const split = useUi((state) => state.diffSplit);
  const set = useUi((state) => state.set);
  const { added, removed } = totalOf(files);
  return (
    <div className="hairline-b flex h-9 shrink-0 items-center gap-2 px-3 max-md:h-12">
      <span className="truncate text-ink-2">{plural(total, "file")}</span>
      <Counts added={added} removed={removed} />
      <span className="flex-1" />
      <IconButton label="Look again" disabled={busy} onClick={onAgain}>
        <Icon name="retry" size={14} />
      </IconButton>
      {roomy && (
        <Segments
          label="How changes are shown"
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
    requestAnimationFrame(() =>
      document.querySelector(`[data-file="${CSS.escape(path)}"]`)?.scrollIntoView({ block: "start" }),
    );
  };
  return (
    <div className="flex min-h-0 flex-1">
      {width >= 860 && files.length > 1 && <FileTree files={files} onChoose={goTo} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys only move between the buttons in it */}
      <div className="min-w-0 flex-1 overflow-auto" onKeyDown={moveBetweenHeads}>
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
            {plural(total - files.length, "more file differs", "more files differ")}; that is more than is
            listed here.
          </p>
        )}
      </div>
    </div>
  );
}

/** Up and down go from file to file while one of their heads has the focus. */
function moveBetweenHeads(event: KeyboardEvent<HTMLDivElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const from = (event.target as HTMLElement).closest("[data-file-head]");
  if (!step || !from) return;
  const heads = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-file-head]")];
  heads[heads.indexOf(from as HTMLElement) + step]?.focus();
  event.preventDefault();
}

function Nothing({ problem, loading, onAgain }: { problem: string; loading: boolean; onAgain: () => void }) {
  if (loading) return <div className="flex-1" aria-busy="true" />;
  const again = <Button onClick={onAgain}>Look again</Button>;
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
      <Empty title="Nothing has changed" action={again}>
        Files the agent writes appear here as it writes them, compared with the commit the session began from.
        Point at a line to comment on it.
      </Empty>
    </div>
  );
}
