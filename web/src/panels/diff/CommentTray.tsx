/** Tray of unsent comments: edit, delete, or send all. */
import { useState } from "react";
import type { SessionView } from "@/api/types";
import { plural } from "@/format/values";
import { send } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { toast } from "@/ui/toast";
import { inFileOrder, type LineComment, messageOf, useComments, useCommentsOf } from "../comments";
import { PathName } from "../PathName";

export function CommentTray({ session }: { session: SessionView }) {
  const comments = useCommentsOf(session.id);
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const { put, remove } = useComments.getState();
  if (comments.length === 0) return null;
  const sendAll = async () => {
    setBusy(true);
    const sent = await send(session.id, messageOf(comments), [], "queue");
    setBusy(false);
    if (sent) for (const { id } of comments) remove(session.id, id); // comments added meanwhile stay
  };
  const dropAll = () => {
    put(session.id, []);
    toast(`Deleted ${plural(comments.length, "comment")}.`, {
      action: {
        label: "Undo",
        onClick: () => put(session.id, [...comments, ...(useComments.getState().of[session.id] ?? [])]),
      },
    });
  };
  return (
    <section aria-label="Comments" className="hairline-t max-h-[50%] shrink-0 overflow-auto bg-surface-1">
      {open && (
        <ul className="m-0 list-none p-0">
          {inFileOrder(comments).map((comment) => (
            <OneComment key={comment.id} sessionId={session.id} comment={comment} />
          ))}
        </ul>
      )}
      <div className="sticky bottom-0 flex items-center gap-2 bg-surface-1 p-2">
        <Button
          look="quiet"
          aria-expanded={open}
          icon={<Icon name={open ? "chevronDown" : "chevronRight"} size={12} />}
          onClick={() => setOpen(!open)}
        >
          {plural(comments.length, "comment")}
        </Button>
        <span className="flex-1" />
        <Button look="quiet" onClick={dropAll}>
          Delete all
        </Button>
        <Button
          look="primary"
          disabled={busy || !allowed}
          icon={<Icon name="send" size={14} />}
          onClick={() => void sendAll()}
        >
          Send {plural(comments.length, "comment")}
        </Button>
      </div>
    </section>
  );
}

function OneComment({ sessionId, comment }: { sessionId: string; comment: LineComment }) {
  const [draft, setDraft] = useState<string | null>(null);
  const { change, remove, add } = useComments.getState();
  const drop = () => {
    remove(sessionId, comment.id);
    toast("Comment deleted.", { action: { label: "Undo", onClick: () => add(sessionId, comment) } });
  };
  const keep = () => {
    if (draft?.trim()) change(sessionId, comment.id, draft.trim());
    setDraft(null);
  };
  return (
    <li className="hairline-b px-3 py-2">
      <div className="flex items-center gap-1">
        <PathName path={`${comment.path}:${comment.line}`} className="flex-1" />
        <IconButton label="Edit comment" onClick={() => setDraft(comment.words)}>
          <Icon name="edit" size={14} />
        </IconButton>
        <IconButton label="Delete comment" onClick={drop}>
          <Icon name="trash" size={14} />
        </IconButton>
      </div>
      <pre className="m-0 truncate font-mono text-code text-ink-3">{comment.text.trim() || " "}</pre>
      {draft === null ? (
        <p className="m-0 whitespace-pre-wrap">{comment.words}</p>
      ) : (
        <textarea
          // biome-ignore lint/a11y/noAutofocus: the user has just asked for it
          autoFocus
          aria-label="Comment"
          value={draft}
          rows={2}
          onChange={(event) => setDraft(event.target.value)}
          onBlur={keep}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              keep();
            } else if (event.key === "Escape") {
              event.stopPropagation();
              setDraft(null);
            }
          }}
          className="w-full resize-y rounded-box border border-line bg-surface-0 px-2 py-1"
        />
      )}
    </li>
  );
}
