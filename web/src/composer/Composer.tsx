/** The composer: the message field, queued messages, session status and mode menus. */
import { memo, useEffect } from "react";
import type { SessionView } from "@/api/types";
import { type Delivery, send } from "@/state/actions";
import { type Draft, draftOf, fetchDraft, isEmpty, messageText, updateDraft } from "@/state/drafts";
import { useInventory } from "@/state/inventory";
import { Attachments } from "./Attachments";
import { attach } from "./attach";
import { MessageField } from "./MessageField";
import { MessageQueue } from "./MessageQueue";
import { ModeMenus } from "./ModeMenus";
import { useRefusal } from "./refusal";
import { SendButtons } from "./SendButtons";
import { SessionStatusLine } from "./StatusLine";

const WHY = "composer-why";

export const Composer = memo(function Composer({ session }: { session: SessionView }) {
  const { id } = session;
  useEffect(() => void fetchDraft(id), [id]);
  const refusal = useRefusal(session);
  const capabilities = useInventory(id)?.capabilities;
  const steers = capabilities?.steer !== false && session.config.inputs !== "queue";
  const submit = (delivery: Delivery) => {
    if (!refusal.reason) void submitDraft(id, delivery);
  };
  return (
    <form
      aria-label="Composer"
      className="mx-auto w-full max-w-[868px] shrink-0 px-3 pb-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit("queue");
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        const files = [...event.dataTransfer.files];
        if (files.length === 0) return;
        event.preventDefault();
        void attach(id, files);
      }}
    >
      <MessageQueue session={session} />
      <SessionStatusLine session={session} />
      <div className="relative rounded-box border border-line-strong bg-surface-1 focus-within:border-accent">
        <Attachments id={id} />
        <MessageField session={session} steers={steers} refusal={refusal} why={WHY} onSend={submit} />
        <div className="flex items-center gap-1 px-1.5 pb-1.5">
          <ModeMenus session={session} />
          <p
            id={WHY}
            className="m-0 min-w-0 flex-1 truncate px-1 text-right text-small text-ink-3"
            title={refusal.reason}
          >
            {refusal.reason}
          </p>
          <SendButtons session={session} steers={steers} refused={refusal.reason} onSend={submit} />
        </div>
      </div>
    </form>
  );
});

/** Clears the composer at once; the draft comes back if sending fails. */
async function submitDraft(id: string, delivery: Delivery): Promise<void> {
  const draft = draftOf(id);
  if (isEmpty(draft)) return;
  updateDraft(id, { text: "", pasted: [], images: [] });
  const images = draft.images.map((each) => each.part);
  if (!(await send(id, messageText(draft), images, delivery)))
    updateDraft(id, restoreDraft(draft, draftOf(id)));
}

function restoreDraft(old: Draft, now: Draft): Partial<Draft> {
  return {
    text: [old.text, now.text].filter(Boolean).join("\n\n"),
    pasted: [...old.pasted, ...now.pasted],
    images: [...old.images, ...now.images],
  };
}
