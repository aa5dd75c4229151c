/** What was said while the agent works and waits for its turn, in the order it is read. */
import { useState } from "react";
import type { QueuedView, SessionView } from "@/api/types";
import { addToDraft } from "@/composer/insert";
import { isBusy } from "@/composer/standing";
import { complain, dropInput, send } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { transcriptOf } from "@/stream/live";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { toast } from "@/ui/toast";
import { change, steerNow, wholeOf } from "./queued";

export function QueueDock({ session }: { session: SessionView }) {
  if (session.queued.length === 0) return null;
  return (
    <section aria-label="Queue" className="pt-2">
      <ol className="m-0 max-h-40 list-none overflow-y-auto p-0">
        {session.queued.map((queued, index) => (
          <QueuedLine key={queued.id} session={session} queued={queued} place={index + 1} />
        ))}
      </ol>
    </section>
  );
}

interface LineProps {
  session: SessionView;
  queued: QueuedView;
  place: number;
}

function QueuedLine({ session, queued, place }: LineProps) {
  const [editing, setEditing] = useState<string | null>(null);
  const allowed = useApp((state) => may(state.me, "operate"));
  if (editing !== null)
    return <QueuedField session={session} queued={queued} all={editing} onClose={() => setEditing(null)} />;
  const edit = async () => {
    const whole = await wholeOf(session.id, transcriptOf(session.id).entries, queued).catch(complain);
    if (whole) setEditing(whole.text);
  };
  const steers = queued.how === "queue" && session.config.inputs !== "queue" && isBusy(session);
  return (
    <li className="group flex min-h-8 items-center gap-2 rounded-box hover:bg-surface-2 focus-within:bg-surface-2">
      <span className="tabular w-6 text-right text-ink-3">{place}.</span>
      <span className="min-w-0 flex-1 truncate">{queued.text}</span>
      <span
        className={`text-small text-ink-3 ${queued.how === "queue" ? "max-md:hidden" : ""}`}
        title={queued.how === "steer" ? STEERED : QUEUED}
      >
        {queued.how === "steer" ? "before its next step" : "after this turn"}
      </span>
      {allowed && (
        <span className="flex items-center">
          {steers && (
            <Button
              look="quiet"
              tip={STEERED}
              onClick={() =>
                void steerNow(session.id, transcriptOf(session.id), queued, (text) =>
                  addToDraft(session.id, text),
                )
              }
            >
              Steer now
            </Button>
          )}
          <IconButton label="Edit what is queued" onClick={() => void edit()}>
            <Icon name="edit" size={14} />
          </IconButton>
          <IconButton label="Delete from the queue" onClick={() => void drop(session.id, queued)}>
            <Icon name="close" size={14} />
          </IconButton>
        </span>
      )}
    </li>
  );
}

const STEERED = "The agent reads it before its next step";
const QUEUED = "The agent reads it when the turn is over";

async function drop(id: string, queued: QueuedView): Promise<void> {
  const whole = await wholeOf(id, transcriptOf(id).entries, queued).catch(() => null);
  if (!(await dropInput(id, queued.id))) return;
  if (!whole) return void toast("Deleted from the queue.");
  toast("Deleted from the queue.", {
    action: { label: "Undo", onClick: () => void send(id, whole.text, whole.pictures, queued.how) },
  });
}

interface FieldProps extends Omit<LineProps, "place"> {
  all: string;
  onClose: () => void;
}

function QueuedField({ session, queued, all, onClose }: FieldProps) {
  const [text, setText] = useState(all);
  const save = async () => {
    if (!text.trim()) return;
    if (await change(session.id, transcriptOf(session.id), queued, text)) onClose();
  };
  return (
    <li className="flex items-end gap-2 py-1">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: somebody has just asked to edit it
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
