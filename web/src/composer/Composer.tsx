/** Where a person writes to the agent, with what is queued, how it stands, and how it works from here on. */
import { memo, useEffect } from "react";
import type { SessionView } from "@/api/types";
import { QueueDock } from "@/dock/QueueDock";
import { type Delivery, send } from "@/state/actions";
import { Attachments } from "./Attachments";
import { attach } from "./attach";
import { type Draft, draftOf, fetchDraft, isEmpty, put, wordsOf } from "./drafts";
import { MessageField } from "./MessageField";
import { ModeMenus } from "./ModeMenus";
import { useRefusal } from "./refusal";
import { SendButtons } from "./SendButtons";
import { SessionStatusLine } from "./StatusLine";
import { useSurroundings } from "./surroundings";

const WHY = "composer-why";

export const Composer = memo(function Composer({ session }: { session: SessionView }) {
  const { id } = session;
  useEffect(() => void fetchDraft(id), [id]);
  const refusal = useRefusal(session);
  const capabilities = useSurroundings(id)?.capabilities;
  const steers = capabilities?.steer !== false && session.config.inputs !== "queue";
  const submit = (delivery: Delivery) => {
    if (!refusal.words) void submitDraft(id, delivery);
  };
  return (
    <form
      aria-label="Write to the agent"
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
      <QueueDock session={session} />
      <SessionStatusLine session={session} />
      <div className="relative rounded-box border border-line-strong bg-surface-1 focus-within:border-accent">
        <Attachments id={id} />
        <MessageField session={session} steers={steers} refusal={refusal} why={WHY} onSend={submit} />
        <div className="flex items-center gap-1 px-1.5 pb-1.5">
          <ModeMenus session={session} />
          <p
            id={WHY}
            className="m-0 min-w-0 flex-1 truncate px-1 text-right text-small text-ink-3"
            title={refusal.words}
          >
            {refusal.words}
          </p>
          <SendButtons session={session} steers={steers} refused={refusal.words} onSend={submit} />
        </div>
      </div>
    </form>
  );
});

/** The words leave the composer at once, and come back if they cannot be sent. */
async function submitDraft(id: string, delivery: Delivery): Promise<void> {
  const draft = draftOf(id);
  if (isEmpty(draft)) return;
  put(id, { text: "", pasted: [], pictures: [] });
  const pictures = draft.pictures.map((each) => each.part);
  if (!(await send(id, wordsOf(draft), pictures, delivery))) put(id, before(draft, draftOf(id)));
}

function before(old: Draft, now: Draft): Partial<Draft> {
  return {
    text: [old.text, now.text].filter(Boolean).join("\n\n"),
    pasted: [...old.pasted, ...now.pasted],
    pictures: [...old.pictures, ...now.pictures],
  };
}
