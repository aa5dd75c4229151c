/** The text area: keys that send, complete and recall; what is pasted. The words live in it, not in React (FM-26). */
import { useEffect, useRef, useState } from "react";
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import type { Delivery } from "@/state/actions";
import { attach } from "./attach";
import { Completions, LISTBOX, optionId } from "./Completions";
import { completed, type Trigger, triggerAt } from "./completion";
import { draftOf, put, typed, useDraft } from "./drafts";
import type { Refusal } from "./refusal";
import { isBusy } from "./standing";
import { useSurroundings } from "./surroundings";
import { useCompletionKeys } from "./useCompletionKeys";
import { usePromptHistory } from "./usePromptHistory";

/** A pasted text longer than this stands beside the words. */
const LONG_PASTE = 20_000;

interface Props {
  session: SessionView;
  steers: boolean;
  refusal: Refusal;
  /** The element that says why nothing can be sent. */
  why: string;
  onSend: (delivery: Delivery) => void;
}

export function MessageField({ session, steers, refusal, why, onSend }: Props) {
  const { id } = session;
  const field = useRef<HTMLTextAreaElement>(null);
  const [trigger, setTrigger] = useState<Trigger | null>(null);
  const recall = usePromptHistory(id, field);
  const hint = usePlaceholder(session);
  useWordsFromElsewhere(id, field);
  useCommand("compose", () => field.current?.focus());

  const choose = (value: string) => {
    const area = field.current;
    if (!area || !trigger) return;
    const done = completed(area.value, trigger, value);
    area.value = done.text;
    area.setSelectionRange(done.caret, done.caret);
    put(id, { text: done.text });
    setTrigger(triggerAt(done.text, done.caret));
  };
  const looked = () => {
    const area = field.current;
    if (area) setTrigger(same(trigger, triggerAt(area.value, area.selectionEnd)));
  };
  const { candidates, chosen, ...completion } = useCompletionKeys(id, trigger, choose, () =>
    setTrigger(null),
  );
  const keyDown = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // an input method is at work
    if (completion.keyDown(event) || recall.keyDown(event)) return;
    if (event.key === "Escape") field.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setTrigger(null);
    recall.reset();
    onSend((event.metaKey || event.ctrlKey) && isBusy(session) && steers ? "steer" : "queue");
  };
  const open = trigger !== null && candidates.length > 0;
  return (
    <>
      {open && (
        <Completions
          kind={trigger.kind}
          candidates={candidates}
          chosen={chosen}
          onChoose={(index) => choose(candidates[index]?.value ?? "")}
        />
      )}
      <textarea
        ref={field}
        data-message=""
        aria-label="Message"
        aria-describedby={refusal.words ? why : undefined}
        aria-autocomplete="list"
        aria-controls={open ? LISTBOX : undefined}
        aria-activedescendant={open ? optionId(chosen) : undefined}
        placeholder={hint}
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
    </>
  );
}

function usePlaceholder(session: SessionView): string {
  const commands = (useSurroundings(session.id)?.commands.length ?? 0) > 0;
  if (session.config.inputs === "locked") return "";
  if (isBusy(session)) return "Queue a follow-up. @ to mention a file";
  return `Message the agent. @ to mention a file${commands ? ", / for commands" : ""}`;
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
