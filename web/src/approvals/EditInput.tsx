/** Edits a request's input before allowing it: the command, or the whole input as JSON. The server validates it. */
import { useState } from "react";
import type { InteractionOpened } from "@/api/types";
import { hasInvisible } from "@/format/invisible";
import { Button } from "@/ui/Button";
import { VisibleText } from "@/ui/VisibleText";
import type { AnswerState } from "./useAnswer";

interface Props {
  opened: InteractionOpened;
  answering: AnswerState;
  onClose: () => void;
}

type Input = Record<string, unknown>;

/** A command is edited as text; any other input as JSON. */
export function readInput(opened: InteractionOpened, text: string): Input | string {
  const input = opened.call.input as Input;
  if (typeof input.command === "string")
    return text.trim() ? { ...input, command: text } : "The command is empty.";
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Input;
    return "Not a JSON object.";
  } catch (error) {
    return `Invalid JSON: ${error instanceof Error ? error.message : ""}`;
  }
}

export function EditInput({ opened, answering, onClose }: Props) {
  const input = opened.call.input as Input;
  const isCommand = typeof input.command === "string";
  const [text, setText] = useState(isCommand ? String(input.command) : JSON.stringify(input, null, 2));
  const read = readInput(opened, text);
  const problem = typeof read === "string" ? read : "";
  const allow = () => {
    if (typeof read !== "string") void answering.answer({ decision: "allow", input: read });
  };
  return (
    <div className="flex min-h-0 flex-col gap-2 px-3 pt-1 pb-3">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the user has just asked to edit it
        autoFocus
        aria-label={isCommand ? "Command" : "Input as JSON"}
        aria-invalid={problem !== ""}
        spellCheck={false}
        value={text}
        rows={3}
        className="max-h-[38vh] resize-none rounded-box border border-line-strong bg-surface-0 px-2 py-1 font-mono text-code [field-sizing:content]"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && !event.nativeEvent.isComposing) onClose();
        }}
      />
      {hasInvisible(text) && (
        <pre className="m-0 max-h-24 overflow-auto font-mono text-code whitespace-pre-wrap">
          <VisibleText text={text} />
        </pre>
      )}
      {(problem || answering.problem) && (
        <p role="alert" className="m-0 text-failed">
          {problem || answering.problem}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button look="needs" disabled={problem !== "" || answering.busy} onClick={allow}>
          Allow edited input
        </Button>
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
