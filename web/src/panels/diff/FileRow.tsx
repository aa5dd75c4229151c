/** A changed file in the list, with a sticky header and its hunks. */
import { lazy, Suspense } from "react";
import type { DiffFile } from "@/api/types";
import { hasScope, useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem } from "@/ui/Menu";
import { showFile } from "../files/chosen";
import { Counts, PathName } from "../PathName";
import { shortLabel, statusLabel } from "./fileLabels";
import { useReject } from "./HunkActions";
import { fileDigest, useReviewed } from "./reviewed";

const FileHunks = lazy(async () => ({ default: (await import("./FileHunks")).FileHunks }));

interface Props {
  sessionId: string;
  file: DiffFile;
  open: boolean;
  onToggle: (open: boolean) => void;
  comments: number;
  roomy: boolean;
}

export function FileRow({ sessionId, file, open, onToggle, comments, roomy }: Props) {
  const { letter, label, colour } = statusLabel(file);
  return (
    <section aria-label={file.path} data-file={file.path} className="hairline-b">
      <header className="sticky top-0 z-10 flex h-8 items-center gap-2 bg-surface-1 pr-1 max-md:h-11">
        <button
          type="button"
          data-file-head
          aria-expanded={open}
          onClick={() => onToggle(!open)}
          className="flex h-full min-w-0 flex-1 items-center gap-2 pl-2 text-left hover:bg-surface-2"
        >
          <Icon name={open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
          <span className={`w-3 text-center font-mono text-small font-semibold ${colour}`} title={label}>
            <span aria-hidden="true">{letter}</span>
            <span className="sr-only">{label}</span>
          </span>
          <PathName path={file.path} className="flex-1" />
          {comments > 0 && (
            <span className="tabular inline-flex items-center gap-0.5 text-small text-accent">
              <Icon name="comment" size={12} />
              {comments}
              <span className="sr-only">{comments === 1 ? "comment" : "comments"}</span>
            </span>
          )}
          {shortLabel(file) ? (
            <span className="shrink-0 text-small text-ink-3">{shortLabel(file)}</span>
          ) : (
            <Counts added={file.added ?? 0} removed={file.removed ?? 0} />
          )}
        </button>
        <Viewed sessionId={sessionId} file={file} />
        <FileMenu sessionId={sessionId} file={file} />
      </header>
      {open && (
        <div className="bg-surface-0">
          {file.old_path && file.old_path !== file.path && (
            <p className="m-0 flex min-w-0 gap-1 px-3 pt-2 text-ink-2">
              <span className="shrink-0">{file.status === "copied" ? "Copied from" : "Was"}</span>
              <PathName path={file.old_path} />
            </p>
          )}
          <ErrorBoundary label="This change" resetKey={file.version}>
            <Suspense fallback={null}>
              <FileHunks sessionId={sessionId} file={file} roomy={roomy} />
            </Suspense>
          </ErrorBoundary>
        </div>
      )}
    </section>
  );
}

/** Marks a file as reviewed until it changes. */
function Viewed({ sessionId, file }: { sessionId: string; file: DiffFile }) {
  const digest = fileDigest(sessionId, file);
  const seen = useReviewed((state) => state.hunks[digest] === true);
  return (
    <input
      type="checkbox"
      aria-label={`Reviewed ${file.path}`}
      title="Reviewed"
      checked={seen}
      onChange={() => useReviewed.getState().mark([digest], !seen)}
      className="target size-3.5 shrink-0 accent-(--accent)"
    />
  );
}

function FileMenu({ sessionId, file }: { sessionId: string; file: DiffFile }) {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const { reject, busy } = useReject(sessionId);
  return (
    <Menu
      label={`More for ${file.path}`}
      trigger={
        <IconButton label={`More for ${file.path}`} className="h-6 w-6">
          <Icon name="more" />
        </IconButton>
      }
    >
      <MenuItem icon="copy" onSelect={() => void copy(file.path, "Path copied")}>
        Copy path
      </MenuItem>
      <MenuItem
        icon="file"
        disabled={file.status === "deleted"}
        onSelect={() => {
          showFile(sessionId, file.path);
          useUi.getState().set({ tab: "files" });
        }}
      >
        Open file
      </MenuItem>
      {allowed && file.rejectable && (
        <MenuItem icon="retry" danger disabled={busy} onSelect={() => void reject(file, null)}>
          {file.status === "untracked" || file.status === "added" ? "Delete file" : "Revert file"}
        </MenuItem>
      )}
    </Menu>
  );
}
