/** The message field: send, completion and history keys, and paste. Its text lives in the DOM, not in React. */
import { useEffect, useRef, useState } from "react";
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import type { Delivery } from "@/state/actions";
import { draftOf, setDraftText, updateDraft, useDraft } from "@/state/drafts";
import { useInventory } from "@/state/inventory";
import { attach } from "./attach";
import { Completions, LISTBOX, optionId } from "./Completions";
import { complete, type Trigger, triggerAt } from "./completion";
import type { Refusal } from "./refusal";
import { isBusy } from "./sessionStatus";
import { useCompletionKeys } from "./useCompletionKeys";
import { usePromptHistory } from "./usePromptHistory";

/** Longer pastes become attachments. */
const LONG_PASTE = 20_000;

interface Props {
  session: SessionView;
  steers: boolean;
  refusal: Refusal;
  /** Id of the element that says why sending is disabled. */
  why: string;
  onSend: (delivery: Delivery) => void;
}

export function MessageField({ session, steers, refusal, why, onSend }: Props) {
  const { id } = session;
  const field = useRef<HTMLTextAreaElement>(null);
  const [trigger, setTrigger] = useState<Trigger | null>(null);
  const recall = usePromptHistory(id, field);
  const hint = usePlaceholder(session);
  useExternalChanges(id, field);
  useCommand("compose", () => field.current?.focus());

  const choose = (value: string) => {
    const area = field.current;
    if (!area || !trigger) return;
    const done = complete(area.value, trigger, value);
    area.value = done.text;
    area.setSelectionRange(done.caret, done.caret);
    updateDraft(id, { text: done.text });
    setTrigger(triggerAt(done.text, done.caret));
  };
  const updateTrigger = () => {
    const area = field.current;
    if (area) setTrigger(same(trigger, triggerAt(area.value, area.selectionEnd)));
  };
  const { candidates, chosen, ...completion } = useCompletionKeys(id, trigger, choose, () =>
    setTrigger(null),
  );
  const keyDown = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // an input method is composing
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
        aria-describedby={refusal.reason ? why : undefined}
        aria-autocomplete="list"
        aria-controls={open ? LISTBOX : undefined}
        aria-activedescendant={open ? optionId(chosen) : undefined}
        placeholder={hint}
        defaultValue={draftOf(id).text}
        disabled={!refusal.canWrite}
        rows={1}
        className="block max-h-[40vh] min-h-10 w-full resize-none overflow-y-auto bg-transparent px-3 pt-2.5 pb-1 text-prose outline-none [field-sizing:content] placeholder:text-ink-3 disabled:cursor-not-allowed"
        onInput={(event) => {
          setDraftText(id, event.currentTarget.value);
          grow(event.currentTarget);
          recall.reset();
          updateTrigger();
        }}
        onSelect={updateTrigger}
        onBlur={() => setTrigger(null)}
        onKeyDown={keyDown}
        onPaste={(event) => handlePaste(id, event)}
      />
    </>
  );
}

function usePlaceholder(session: SessionView): string {
  const commands = (useInventory(session.id)?.commands.length ?? 0) > 0;
  if (session.config.inputs === "locked") return "";
  if (isBusy(session)) return "Queue a follow-up. @ to mention a file";
  return `Message the agent. @ to mention a file${commands ? ", / for commands" : ""}`;
}

function same(old: Trigger | null, now: Trigger | null): Trigger | null {
  const alike = old && now && old.kind === now.kind && old.query === now.query && old.start === now.start;
  return alike ? old : now;
}

/** For browsers without `field-sizing`. */
function grow(area: HTMLTextAreaElement): void {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function useExternalChanges(id: string, field: React.RefObject<HTMLTextAreaElement | null>): void {
  const revision = useDraft(id, (draft) => draft.revision);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a revision means the text was changed elsewhere
  useEffect(() => {
    const { text } = draftOf(id);
    const area = field.current;
    if (!area || area.value === text) return;
    area.value = text;
    grow(area);
  }, [id, revision, field]);
}

function handlePaste(id: string, event: React.ClipboardEvent): void {
  const files = [...event.clipboardData.files];
  if (files.length > 0) {
    event.preventDefault();
    return void attach(id, files);
  }
  const text = event.clipboardData.getData("text/plain");
  if (text.length <= LONG_PASTE) return;
  event.preventDefault();
  updateDraft(id, { pasted: [...draftOf(id).pasted, { id: crypto.randomUUID(), text }] });
}
