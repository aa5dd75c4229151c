/** Queued messages, in the order the agent will read them. */
import { useState } from "react";
import type { QueuedView, SessionView } from "@/api/types";
import { dropInput, send, showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { addToDraft } from "@/state/drafts";
import { transcriptOf } from "@/stream/connection";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { toast } from "@/ui/toast";
import { editQueued, loadQueued, steerNow } from "./queuedMessage";
import { isBusy } from "./sessionStatus";

export function MessageQueue({ session }: { session: SessionView }) {
  if (session.queued.length === 0) return null;
  return (
    <section aria-label="Queue" className="pt-2">
      <ol className="m-0 max-h-40 list-none overflow-y-auto p-0">
        {session.queued.map((queued, index) => (
          <QueuedLine key={queued.id} session={session} queued={queued} position={index + 1} />
        ))}
      </ol>
    </section>
  );
}

interface LineProps {
  session: SessionView;
  queued: QueuedView;
  position: number;
}

function QueuedLine({ session, queued, position }: LineProps) {
  const [editing, setEditing] = useState<string | null>(null);
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  if (editing !== null)
    return <QueuedField session={session} queued={queued} all={editing} onClose={() => setEditing(null)} />;
  const edit = async () => {
    const whole = await loadQueued(session.id, transcriptOf(session.id).entries, queued).catch(showError);
    if (whole) setEditing(whole.text);
  };
  const steers = queued.how === "queue" && session.config.inputs !== "queue" && isBusy(session);
  return (
    <li className="group flex min-h-8 items-center gap-2 rounded-box hover:bg-surface-2 focus-within:bg-surface-2">
      <span className="tabular w-6 text-right text-ink-3">{position}.</span>
      <span className="min-w-0 flex-1 truncate">{queued.text}</span>
      <span
        className={`text-small text-ink-3 ${queued.how === "queue" ? "max-md:hidden" : ""}`}
        title={queued.how === "steer" ? STEERED : QUEUED}
      >
        {queued.how === "steer" ? "before the next step" : "after this turn"}
      </span>
      {allowed && (
        <span className="flex items-center">
          {steers && (
            <Button
              look="quiet"
              tooltip={STEERED}
              onClick={() =>
                void steerNow(session.id, transcriptOf(session.id), queued, (text) =>
                  addToDraft(session.id, text),
                )
              }
            >
              Steer now
            </Button>
          )}
          <IconButton label="Edit in queue" onClick={() => void edit()}>
            <Icon name="edit" size={14} />
          </IconButton>
          <IconButton label="Delete from queue" onClick={() => void drop(session.id, queued)}>
            <Icon name="close" size={14} />
          </IconButton>
        </span>
      )}
    </li>
  );
}

const STEERED = "Read before the agent's next step";
const QUEUED = "Read when the turn is over";

async function drop(id: string, queued: QueuedView): Promise<void> {
  const whole = await loadQueued(id, transcriptOf(id).entries, queued).catch(() => null);
  if (!(await dropInput(id, queued.id))) return;
  if (!whole) return void toast("Deleted from queue.");
  toast("Deleted from queue.", {
    action: { label: "Undo", onClick: () => void send(id, whole.text, whole.images, queued.how) },
  });
}

interface FieldProps extends Omit<LineProps, "position"> {
  all: string;
  onClose: () => void;
}

function QueuedField({ session, queued, all, onClose }: FieldProps) {
  const [text, setText] = useState(all);
  const save = async () => {
    if (!text.trim()) return;
    if (await editQueued(session.id, transcriptOf(session.id), queued, text)) onClose();
  };
  return (
    <li className="flex items-end gap-2 py-1">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the user has just asked to edit it
        autoFocus
        aria-label="Queued message"
        value={text}
        rows={2}
        className="max-h-40 min-w-0 flex-1 resize-none rounded-box border border-line-strong bg-surface-0 px-2 py-1 [field-sizing:content]"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") onClose();
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          void save();
        }}
      />
      <Button look="quiet" onClick={onClose}>
        Cancel
      </Button>
      <Button look="primary" disabled={!text.trim()} onClick={() => void save()}>
        Save
      </Button>
    </li>
  );
}
