/** A question of an MCP server: a form made of its schema, or an address that is opened only after asking. */
import { useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Field, INPUT } from "@/ui/Field";
import { VisibleText } from "@/ui/VisibleText";
import type { RequestProps } from "./ApprovalCard";
import {
  contentOf,
  type Elicitation,
  type ElicitationField,
  elicitationOf,
  initialValues,
  problemOf,
  type Value,
  type Values,
} from "./elicitation";
import { KeyHint } from "./KeyHint";
import { AnswerError } from "./PermissionRequest";
import { useAnswer } from "./useAnswer";

export function ElicitationForm({ interaction, opened, keys, onDone }: RequestProps) {
  const allowed = useApp((state) => hasScope(state.me, "approve"));
  const answering = useAnswer(interaction, onDone);
  const asked = elicitationOf(opened.call.input);
  const [values, setValues] = useState<Values>(() => initialValues(asked.fields));
  const [tried, setTried] = useState(false);
  const answer = (action: "accept" | "decline" | "cancel", content?: Record<string, unknown>) =>
    void answering.answer({ decision: "answer", answers: { action, ...(content ? { content } : {}) } });
  const accept = () => {
    setTried(true);
    if (asked.isUrl) {
      if (!isOpenable(asked.url)) return;
      window.open(asked.url, "_blank", "noopener,noreferrer");
      return answer("accept");
    }
    if (asked.fields.every((field) => !problemOf(field, values[field.name] ?? field.initial)))
      answer("accept", contentOf(asked.fields, values));
  };
  const active = allowed && !answering.busy;
  useCommand("approve", accept, keys && active);
  useCommand("deny", () => answer("decline"), keys && active);
  const who = asked.server || "the server";
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (active) accept();
      }}
    >
      <div className="max-h-[min(46vh,480px)] space-y-3 overflow-y-auto px-3 py-1.5">
        <p className="m-0 text-prose whitespace-pre-wrap break-words">
          <VisibleText text={asked.message} />
        </p>
        {asked.isUrl ? (
          <Address asked={asked} />
        ) : (
          <fieldset disabled={!allowed} className="m-0 min-w-0 space-y-3 border-0 p-0">
            {asked.fields.map((field) => (
              <OneField
                key={field.name}
                field={field}
                value={values[field.name] ?? field.initial}
                problem={tried ? problemOf(field, values[field.name] ?? field.initial) : ""}
                onChange={(value) => setValues((all) => ({ ...all, [field.name]: value }))}
              />
            ))}
          </fieldset>
        )}
        <p className="m-0 text-small text-ink-3">What you send goes to {who}. Send no password and no key.</p>
      </div>
      <AnswerError answering={answering} />
      {allowed && (
        <footer className="flex flex-wrap items-center gap-2 px-3 pt-1 pb-3">
          <Button
            type="submit"
            look="needs"
            command="approve"
            disabled={!active || (asked.isUrl && !isOpenable(asked.url))}
            className="max-md:flex-1"
          >
            {asked.isUrl ? "Open address" : "Send"} <KeyHint command="approve" />
          </Button>
          <Button command="deny" disabled={!active} onClick={() => answer("decline")}>
            Decline <KeyHint command="deny" />
          </Button>
          <Button look="quiet" disabled={!active} onClick={() => answer("cancel")}>
            Cancel
          </Button>
        </footer>
      )}
    </form>
  );
}

function isOpenable(address: string): boolean {
  try {
    return ["http:", "https:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** The whole address, with its host in bold: that is what people should look at. */
function Address({ asked }: { asked: Elicitation }) {
  if (!isOpenable(asked.url))
    return (
      <p role="alert" className="m-0 text-failed">
        It wants to open something that is not a web address: <VisibleText text={asked.url} />
      </p>
    );
  const { host } = new URL(asked.url);
  return (
    <div>
      <p className="m-0 text-ink-2">
        It asks to open an address at <strong className="text-ink-1">{host}</strong>:
      </p>
      <code className="block max-h-32 overflow-auto rounded-box bg-surface-0 p-2 font-mono text-code break-all">
        <VisibleText text={asked.url} />
      </code>
    </div>
  );
}

interface FieldProps {
  field: ElicitationField;
  value: Value;
  problem: string;
  onChange: (value: Value) => void;
}

const TYPES: Record<string, string> = {
  email: "email",
  uri: "url",
  date: "date",
  "date-time": "datetime-local",
};

function OneField({ field, value, problem, onChange }: FieldProps) {
  if (field.kind === "boolean")
    return (
      <label className="target flex cursor-pointer items-start gap-2">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
          className="mt-1 accent-[var(--accent)]"
        />
        <span>
          <VisibleText text={field.title} />
          {field.about && <span className="block text-small text-ink-3">{field.about}</span>}
        </span>
      </label>
    );
  if (field.kind === "choices")
    return <Several field={field} value={value} problem={problem} onChange={onChange} />;
  const shown = typeof value === "string" ? value : "";
  return (
    <Field
      label={`${field.title}${field.required ? "" : " (optional)"}`}
      about={field.about}
      problem={problem}
    >
      {(given) =>
        field.kind === "choice" ? (
          <select
            {...given}
            className={INPUT}
            value={shown}
            onChange={(event) => onChange(event.target.value)}
          >
            <option value="">{field.required ? "Select" : "None"}</option>
            {field.choices.map((each) => (
              <option key={each.value} value={each.value}>
                {each.label}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...given}
            type={field.kind === "text" ? (TYPES[field.format] ?? "text") : "text"}
            inputMode={field.kind === "text" ? undefined : "decimal"}
            className={INPUT}
            value={shown}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
}

function Several({ field, value, problem, onChange }: FieldProps) {
  const chosen = typeof value === "object" ? value : [];
  const toggle = (one: string) =>
    onChange(chosen.includes(one) ? chosen.filter((each) => each !== one) : [...chosen, one]);
  return (
    <fieldset className="m-0 min-w-0 border-0 p-0">
      <legend className="mb-1 p-0 font-medium text-ink-2">
        {field.title} {!field.required && "(optional)"}
      </legend>
      {field.choices.map((each) => (
        <label key={each.value} className="target flex cursor-pointer items-center gap-2">
          <input
            type="checkbox"
            checked={chosen.includes(each.value)}
            onChange={() => toggle(each.value)}
            className="accent-[var(--accent)]"
          />
          <VisibleText text={each.label} />
        </label>
      ))}
      {(problem || field.about) && (
        <p className={`m-0 mt-1 text-small ${problem ? "text-failed" : "text-ink-3"}`}>
          {problem || field.about}
        </p>
      )}
    </fieldset>
  );
}
