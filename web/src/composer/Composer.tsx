/** Where a person writes to the agent. The words live in the text area, not in React: a long text costs no drawing (FM-26). */
import { memo, useEffect, useRef, useState } from "react";
import { toast } from "sonner";
import type { SessionView } from "@/api/types";
import { QueueDock } from "@/dock/QueueDock";
import { useCommand } from "@/keys/useCommand";
import { type Delivery, send } from "@/state/actions";
import { useApp } from "@/state/app";
import { Attachments } from "./Attachments";
import { Completions, LISTBOX, optionId, useCandidates } from "./Completions";
import { completed, type Trigger, triggerAt } from "./completion";
import { type Draft, draftOf, isEmpty, put, typed, useDraft, wordsOf } from "./drafts";
import { ModeMenus } from "./ModeMenus";
import { readPictures, weightOf } from "./pictures";
import { useRefusal } from "./refusal";
import { SendButtons } from "./SendButtons";
import { SessionStatusLine } from "./StatusLine";
import { isBusy } from "./standing";
import { useSurroundings } from "./surroundings";
import { usePromptHistory } from "./usePromptHistory";

/** A pasted text longer than this stands beside the words. */
const LONG_PASTE = 20_000;
const MOST_BYTES = 16 * 1024 * 1024;
const WHY = "composer-why";

export const Composer = memo(function Composer({ session }: { session: SessionView }) {
  const { id } = session;
  draftOf(id, session.draft);
  const field = useRef<HTMLTextAreaElement>(null);
  const [trigger, setTrigger] = useState<Trigger | null>(null);
  const refusal = useRefusal(session);
  const capabilities = useSurroundings(id)?.capabilities;
  const steers = capabilities?.steer !== false && session.config.inputs !== "queue";
  const recall = usePromptHistory(id, field);
  useWordsFromElsewhere(id, field);
  useCommand("compose", () => field.current?.focus());

  const submit = (delivery: Delivery) => {
    if (refusal.words) return;
    setTrigger(null);
    recall.reset();
    void submitDraft(id, delivery);
  };
  const choose = (value: string) => {
    const area = field.current;
    if (!area || !trigger) return;
    const done = completed(area.value, trigger, value);
    put(id, { text: done.text });
    area.setSelectionRange(done.caret, done.caret);
    setTrigger(triggerAt(done.text, done.caret));
  };
  const looked = () => {
    const area = field.current;
    if (area) setTrigger(same(trigger, triggerAt(area.value, area.selectionEnd)));
  };
  const completion = useCompletionKeys(id, trigger, choose, () => setTrigger(null));
  const keyDown = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // an input method is at work
    if (completion.keyDown(event) || recall.keyDown(event)) return;
    if (event.key === "Escape") field.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const mod = event.metaKey || event.ctrlKey;
    submit(mod && isBusy(session) && steers ? "steer" : "queue");
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
        {trigger && completion.candidates.length > 0 && (
          <Completions
            kind={trigger.kind}
            candidates={completion.candidates}
            chosen={completion.chosen}
            onChoose={(index) => choose(completion.candidates[index]?.value ?? "")}
          />
        )}
        <Attachments id={id} />
        <textarea
          ref={field}
          aria-label="Message"
          aria-describedby={refusal.words ? WHY : undefined}
          aria-autocomplete="list"
          aria-controls={completion.candidates.length > 0 ? LISTBOX : undefined}
          aria-activedescendant={completion.candidates.length > 0 ? optionId(completion.chosen) : undefined}
          placeholder={placeholder(session)}
          defaultValue={draftOf(id).text}
          disabled={!refusal.mayWrite}
          rows={1}
          className="block max-h-[40vh] min-h-10 w-full resize-none overflow-y-auto bg-transparent px-3 pt-2.5 pb-1 text-prose outline-none [field-sizing:content] placeholder:text-ink-3 disabled:cursor-not-allowed"
          onInput={(event) => {
            typed(id, event.currentTarget.value);
            grow(event.currentTarget);
            recall.reset();
            looked();
          }}
          onSelect={looked}
          onBlur={() => setTrigger(null)}
          onKeyDown={keyDown}
          onPaste={(event) => pasted(id, event)}
        />
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

function placeholder(session: SessionView): string {
  if (session.config.inputs === "locked") return "";
  return isBusy(session)
    ? "Write what comes next. @ names a file"
    : "Write to the agent. @ names a file, / a command";
}

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

function same(old: Trigger | null, now: Trigger | null): Trigger | null {
  const alike = old && now && old.kind === now.kind && old.query === now.query && old.start === now.start;
  return alike ? old : now;
}

/** Browsers that cannot size a text area by what is in it. */
function grow(area: HTMLTextAreaElement): void {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function useWordsFromElsewhere(id: string, field: React.RefObject<HTMLTextAreaElement | null>): void {
  const revision = useDraft(id, (draft) => draft.revision);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a revision says that the words were changed elsewhere
  useEffect(() => {
    const { text } = draftOf(id);
    const area = field.current;
    if (!area || area.value === text) return;
    area.value = text;
    grow(area);
  }, [id, revision, field]);
}

function pasted(id: string, event: React.ClipboardEvent): void {
  const files = [...event.clipboardData.files];
  if (files.length > 0) {
    event.preventDefault();
    return void attach(id, files);
  }
  const text = event.clipboardData.getData("text/plain");
  if (text.length <= LONG_PASTE) return;
  event.preventDefault();
  put(id, { pasted: [...draftOf(id).pasted, { id: crypto.randomUUID(), text }] });
}

async function attach(id: string, files: File[]): Promise<void> {
  const most = useApp.getState().config?.limits.image_bytes ?? MOST_BYTES;
  const read = await readPictures(files, weightOf(draftOf(id).pictures), most);
  for (const words of read.refused) toast.error(words);
  if (read.pictures.length > 0) put(id, { pictures: [...draftOf(id).pictures, ...read.pictures] });
}

/** Up, Down, Enter, Tab and Escape belong to the list while it is there. */
function useCompletionKeys(
  id: string,
  trigger: Trigger | null,
  choose: (value: string) => void,
  close: () => void,
) {
  const candidates = useCandidates(id, trigger);
  const [place, setPlace] = useState(0);
  const asked = trigger ? `${trigger.kind}/${trigger.query}` : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question begins at its first answer
  useEffect(() => setPlace(0), [asked]);
  const chosen = Math.min(place, Math.max(0, candidates.length - 1));
  const keyDown = (event: React.KeyboardEvent): boolean => {
    if (!trigger || candidates.length === 0) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const picks =
      (event.key === "Enter" && !event.shiftKey && !event.metaKey && !event.ctrlKey) || event.key === "Tab";
    if (step) setPlace((chosen + step + candidates.length) % candidates.length);
    else if (picks) choose(candidates[chosen]?.value ?? "");
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { candidates: trigger ? candidates : [], chosen, keyDown };
}
