/** The agent asks: one question after the other, with ready answers, numbers to choose by, and room for other words. */
import { useEffect, useRef, useState } from "react";
import { isCovered, isTyping, useCommand } from "@/keys/useCommand";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Shown } from "@/ui/Hidden";
import { Keys } from "@/ui/Keys";
import type { PartProps } from "./Decision";
import { KeySign } from "./KeySign";
import { Trouble } from "./Permission";
import {
  type Asked,
  answersOf,
  type Chosen,
  choose,
  isAnswered,
  NOTHING,
  questionsOf,
  write,
} from "./questions";
import { useAnswer } from "./useAnswer";

export function Question({ interaction, opened, keys, onDone }: PartProps) {
  const allowed = useApp((state) => may(state.me, "approve"));
  const answering = useAnswer(interaction, onDone);
  const questions = questionsOf(opened.call.input);
  const [step, setStep] = useState(0);
  const [chosen, setChosen] = useState<Record<string, Chosen>>({});
  const asked = questions[Math.min(step, questions.length - 1)];
  const last = step >= questions.length - 1;
  const current = asked ? (chosen[asked.question] ?? NOTHING) : NOTHING;
  const can = allowed && !answering.busy && isAnswered(current);
  const put = (next: Chosen) => asked && setChosen((all) => ({ ...all, [asked.question]: next }));
  const goOn = () => {
    if (!can) return;
    if (!last) return setStep(step + 1);
    void answering.answer({ decision: "answer", answers: answersOf(questions, chosen) });
  };
  const leave = () => void answering.answer({ decision: "deny", reason: LEFT_OPEN });
  useCommand("approve", goOn, keys && allowed);
  useCommand("deny", leave, keys && allowed && !answering.busy);
  useNumbers(keys && allowed, (number) => {
    const option = asked?.options[number - 1];
    if (!asked || !option) return false;
    put(choose(asked, current, option.label));
    return true;
  });
  if (!asked) return <Unreadable leave={leave} allowed={allowed} />;
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
      <Trouble answering={answering} />
      {allowed && (
        <footer className="flex flex-wrap items-center gap-2 px-3 pt-1 pb-3">
          <Button look="needs" command="approve" disabled={!can} onClick={goOn} className="max-md:flex-1">
            {last ? "Answer" : "Next question"} <KeySign command="approve" />
          </Button>
          {step > 0 && (
            <Button disabled={answering.busy} onClick={() => setStep(step - 1)}>
              Back
            </Button>
          )}
          <Button look="quiet" command="deny" disabled={answering.busy} onClick={leave}>
            Leave it open <KeySign command="deny" />
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

const LEFT_OPEN =
  "The user does not want to answer this now. Go on with what you think best, and say what you assumed.";

interface OptionsProps {
  asked: Asked;
  chosen: Chosen;
  name: string;
  disabled: boolean;
  onChange: (chosen: Chosen) => void;
}

function Options({ asked, chosen, name, disabled, onChange }: OptionsProps) {
  return (
    <fieldset className="m-0 min-w-0 border-0 p-0" disabled={disabled}>
      <legend className="mb-1 p-0 text-prose">
        {asked.header && <span className="mr-2 text-small text-ink-3">{asked.header}</span>}
        <Shown text={asked.question} />
        {asked.multi && <span className="ml-2 text-small text-ink-3">Several may be chosen</span>}
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
            <Shown text={option.label} />
            {option.description && (
              <span className="block text-small text-ink-2">
                <Shown text={option.description} />
              </span>
            )}
            {option.preview && (
              <span className="mt-1 block max-h-40 overflow-auto rounded-box bg-surface-0 p-2 font-mono text-code whitespace-pre">
                <Shown text={option.preview} />
              </span>
            )}
          </span>
          <span aria-hidden="true" className="pointer-coarse:hidden">
            <Keys keys={String(index + 1)} />
          </span>
        </label>
      ))}
      <input
        type="text"
        aria-label="Something else"
        placeholder={asked.options.length > 0 ? "Something else, in your own words" : "Your answer"}
        value={chosen.text}
        onChange={(event) => onChange(write(asked, chosen, event.target.value))}
        className="mt-1 h-8 w-full rounded-box border border-line-strong bg-surface-0 px-2 max-md:h-11"
      />
    </fieldset>
  );
}

/** Numbers choose here before they mean anything else on the page. */
function useNumbers(active: boolean, pick: (number: number) => boolean): void {
  const newest = useRef(pick);
  newest.current = pick;
  useEffect(() => {
    if (!active) return;
    const heard = (event: KeyboardEvent) => {
      const plain = !event.metaKey && !event.ctrlKey && !event.altKey;
      if (!plain || !/^[1-9]$/.test(event.key) || isTyping(event.target) || isCovered()) return;
      if (newest.current(Number(event.key))) event.preventDefault();
    };
    document.addEventListener("keydown", heard);
    return () => document.removeEventListener("keydown", heard);
  }, [active]);
}

function Unreadable({ leave, allowed }: { leave: () => void; allowed: boolean }) {
  return (
    <div className="px-3 py-2">
      <p className="m-0 text-ink-2">The agent asks something that cannot be read.</p>
      {allowed && <Button onClick={leave}>Leave it open</Button>}
    </div>
  );
}
