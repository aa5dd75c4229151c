/** Plan review: read and comment on the plan, approve it with a permission mode, or keep planning. */
import { useState } from "react";
import type { DecisionBody } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { send } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { addToDraft } from "@/state/drafts";
import { permissionChoices } from "@/state/modes";
import { Markdown } from "@/text/Markdown";
import { Button } from "@/ui/Button";
import type { RequestProps } from "./ApprovalCard";
import { KeyHint } from "./KeyHint";
import { AnswerError } from "./PermissionRequest";
import { ReadToEnd } from "./ReadToEnd";
import { useAnswer } from "./useAnswer";

type Mode = NonNullable<DecisionBody["mode"]>;

/** Permission modes after approval, the usual choice first. */
const INTO: readonly Mode[] = ["acceptEdits", "default", "dontAsk"];

export function PlanReview({ session, interaction, opened, keys, onDone }: RequestProps) {
  const allowed = useApp((state) => hasScope(state.me, "approve"));
  const config = useApp((state) => state.config);
  const answering = useAnswer(interaction, onDone);
  const [seen, setSeen] = useState("");
  const [comment, setComment] = useState("");
  const [mode, setMode] = useState<Mode>("default");
  const can = allowed && seen === interaction.id && !answering.busy;
  const offered = config ? permissionChoices(config, session.config.workflow, allowed) : [];
  const choices = INTO.flatMap((mode) => offered.filter((each) => each.value === mode && !each.disabled));
  const edits = choices.some((each) => each.value === "acceptEdits");
  const approve = async () => {
    if (!can) return;
    if (!(await answering.answer({ decision: "allow", mode })) || !comment.trim()) return;
    // A comment on an approved plan has to reach the agent that implements it.
    if (!(await send(session.id, comment.trim(), [], "steer"))) addToDraft(session.id, comment.trim());
  };
  const keepPlanning = () => void answering.answer({ decision: "deny", reason: comment.trim() || AGAIN });
  useCommand("approve", () => void approve(), keys && allowed);
  useCommand("deny", keepPlanning, keys && allowed && !answering.busy);
  return (
    <>
      <ReadToEnd label="Plan" id={interaction.id} onSeen={setSeen} className="mx-3 my-1.5">
        <Markdown text={planText(opened.call.input)} streaming={false} />
      </ReadToEnd>
      <AnswerError answering={answering} />
      {allowed && (
        <footer className="flex flex-col gap-2 px-3 pb-3">
          <textarea
            aria-label="Comment on the plan"
            placeholder="Comment on the plan (optional)"
            value={comment}
            rows={1}
            className="max-h-32 resize-none rounded-box border border-line-strong bg-surface-0 px-2 py-1 [field-sizing:content]"
            onChange={(event) => setComment(event.target.value)}
          />
          {edits && (
            <fieldset className="m-0 flex flex-wrap items-center gap-x-4 gap-y-1 border-0 p-0">
              <legend className="sr-only">After approval</legend>
              <span className="text-ink-2">After approval:</span>
              {choices.map((choice) => (
                <label key={choice.value} title={choice.about} className="target flex items-center gap-1.5">
                  <input
                    type="radio"
                    name={`mode-${interaction.id}`}
                    checked={mode === choice.value}
                    onChange={() => setMode(choice.value as Mode)}
                    className="accent-[var(--accent)]"
                  />
                  {choice.value === "default" ? "Ask for each edit" : choice.label}
                </label>
              ))}
              <span className="min-w-0 text-small text-ink-3 max-md:w-full">
                {choices.find((choice) => choice.value === mode)?.about}
              </span>
            </fieldset>
          )}
          {!edits && (
            <p className="m-0 text-small text-ink-3">
              This session only plans. Continue in a new session to implement it.
            </p>
          )}
          <div className="flex flex-wrap items-center gap-2">
            <Button look="needs" command="approve" disabled={!can} onClick={() => void approve()}>
              Approve plan <KeyHint command="approve" />
            </Button>
            <Button command="deny" disabled={answering.busy} onClick={keepPlanning}>
              Keep planning <KeyHint command="deny" />
            </Button>
            {seen !== interaction.id && (
              <span className="text-small text-needs">Scroll to the end to enable Approve</span>
            )}
          </div>
        </footer>
      )}
    </>
  );
}

const AGAIN = "The user wants to keep planning. Ask what should be different.";

function planText(input: Record<string, unknown>): string {
  const { plan, planFilePath } = input;
  if (typeof plan === "string" && plan) return plan;
  return typeof planFilePath === "string" && planFilePath
    ? `The plan is in the file \`${planFilePath}\`.`
    : "The agent wants to leave plan mode without a plan.";
}
