/** Questions of the agent, one at a time, with options, number keys and free text. */
import { useEffect, useRef, useState } from "react";
import { isOverlayOpen, isTyping, useCommand } from "@/keys/useCommand";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Kbd } from "@/ui/Kbd";
import { VisibleText } from "@/ui/VisibleText";
import type { RequestProps } from "./ApprovalCard";
import { KeyHint } from "./KeyHint";
import { AnswerError } from "./PermissionRequest";
import {
  answersOf,
  choose,
  isAnswered,
  NOTHING,
  type Question,
  questionsOf,
  type Selection,
  typeAnswer,
} from "./questions";
import { useAnswer } from "./useAnswer";

export function QuestionForm({ interaction, opened, keys, onDone }: RequestProps) {
  const allowed = useApp((state) => hasScope(state.me, "approve"));
  const answering = useAnswer(interaction, onDone);
  const questions = questionsOf(opened.call.input);
  const [step, setStep] = useState(0);
  const [chosen, setChosen] = useState<Record<string, Selection>>({});
  const asked = questions[Math.min(step, questions.length - 1)];
  const last = step >= questions.length - 1;
  const current = asked ? (chosen[asked.question] ?? NOTHING) : NOTHING;
  const can = allowed && !answering.busy && isAnswered(current);
  const put = (next: Selection) => asked && setChosen((all) => ({ ...all, [asked.question]: next }));
  const submit = () => {
    if (!can) return;
    if (!last) return setStep(step + 1);
    void answering.answer({ decision: "answer", answers: answersOf(questions, chosen) });
  };
  const skip = () => void answering.answer({ decision: "deny", reason: SKIPPED });
  useCommand("approve", submit, keys && allowed);
  useCommand("deny", skip, keys && allowed && !answering.busy);
  useNumbers(keys && allowed, (number) => {
    const option = asked?.options[number - 1];
    if (!asked || !option) return false;
    put(choose(asked, current, option.label));
    return true;
  });
  if (!asked) return <UnreadableQuestion leave={skip} allowed={allowed} />;
  return (
    <>
      <div className="max-h-[min(46vh,480px)] overflow-y-auto px-3 py-1.5">
        <Options
          asked={asked}
          chosen={current}
          name={`${interaction.id}-${step}`}
          disabled={!allowed}
          onChange={put}
        />
      </div>
      <AnswerError answering={answering} />
      {allowed && (
        <footer className="flex flex-wrap items-center gap-2 px-3 pt-1 pb-3">
          <Button look="needs" command="approve" disabled={!can} onClick={submit} className="max-md:flex-1">
            {last ? "Answer" : "Next question"} <KeyHint command="approve" />
          </Button>
          {step > 0 && (
            <Button disabled={answering.busy} onClick={() => setStep(step - 1)}>
              Back
            </Button>
          )}
          <Button look="quiet" command="deny" disabled={answering.busy} onClick={skip}>
            Skip question <KeyHint command="deny" />
          </Button>
          {questions.length > 1 && (
            <span className="tabular text-small text-ink-3">
              Question {step + 1} of {questions.length}
            </span>
          )}
        </footer>
      )}
    </>
  );
}

const SKIPPED =
  "The user does not want to answer this now. Go on with what you think best, and say what you assumed.";

interface OptionsProps {
  asked: Question;
  chosen: Selection;
  name: string;
  disabled: boolean;
  onChange: (chosen: Selection) => void;
}

function Options({ asked, chosen, name, disabled, onChange }: OptionsProps) {
  return (
    <fieldset className="m-0 min-w-0 border-0 p-0" disabled={disabled}>
      <legend className="mb-1 p-0 text-prose">
        {asked.header && <span className="mr-2 text-small text-ink-3">{asked.header}</span>}
        <VisibleText text={asked.question} />
        {asked.multi && <span className="ml-2 text-small text-ink-3">Select one or more</span>}
      </legend>
      {asked.options.map((option, index) => (
        <label
          key={option.label}
          className="target flex cursor-pointer items-start gap-2 rounded-box px-1 py-1 hover:bg-surface-2 has-checked:bg-accent-soft"
        >
          <input
            type={asked.multi ? "checkbox" : "radio"}
            name={name}
            checked={chosen.labels.includes(option.label)}
            onChange={() => onChange(choose(asked, chosen, option.label))}
            className="mt-1 accent-[var(--accent)]"
          />
          <span className="min-w-0 flex-1">
            <VisibleText text={option.label} />
            {option.description && (
              <span className="block text-small text-ink-2">
                <VisibleText text={option.description} />
              </span>
            )}
            {option.preview && (
              <span className="mt-1 block max-h-40 overflow-auto rounded-box bg-surface-0 p-2 font-mono text-code whitespace-pre">
                <VisibleText text={option.preview} />
              </span>
            )}
          </span>
          <span aria-hidden="true" className="pointer-coarse:hidden">
            <Kbd keys={String(index + 1)} />
          </span>
        </label>
      ))}
      <input
        type="text"
        aria-label="Other answer"
        placeholder={asked.options.length > 0 ? "Other answer" : "Your answer"}
        value={chosen.text}
        onChange={(event) => onChange(typeAnswer(asked, chosen, event.target.value))}
        className="mt-1 h-8 w-full rounded-box border border-line-strong bg-surface-0 px-2 max-md:h-11"
      />
    </fieldset>
  );
}

/** Number keys select an option before any other shortcut sees them. */
function useNumbers(active: boolean, pick: (number: number) => boolean): void {
  const newest = useRef(pick);
  newest.current = pick;
  useEffect(() => {
    if (!active) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const plain = !event.metaKey && !event.ctrlKey && !event.altKey;
      if (!plain || !/^[1-9]$/.test(event.key) || isTyping(event.target) || isOverlayOpen()) return;
      if (newest.current(Number(event.key))) event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [active]);
}

function UnreadableQuestion({ leave: skip, allowed }: { leave: () => void; allowed: boolean }) {
  return (
    <div className="px-3 py-2">
      <p className="m-0 text-ink-2">The agent's question cannot be displayed.</p>
      {allowed && <Button onClick={skip}>Skip question</Button>}
    </div>
  );
}
