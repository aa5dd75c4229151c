/** Denies a request with a reason, which the agent reads instead of the result. */
import { useState } from "react";
import { formatKey } from "@/keys/keymap";
import { Button } from "@/ui/Button";
import type { AnswerState } from "./useAnswer";

interface Props {
  answering: AnswerState;
  onClose: () => void;
}

export function DenyReason({ answering, onClose }: Props) {
  const [reason, setReason] = useState("");
  const deny = (interrupt: boolean) =>
    void answering.answer({ decision: "deny", reason: reason.trim(), interrupt });
  return (
    <div className="flex flex-col gap-2 px-3 pb-3">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the user has just asked to write it
        autoFocus
        aria-label="Reason"
        placeholder="Tell the agent what to do instead"
        value={reason}
        rows={2}
        className="max-h-40 resize-none rounded-box border border-line-strong bg-surface-0 px-2 py-1 [field-sizing:content]"
        onChange={(event) => setReason(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") onClose();
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) deny(false);
        }}
      />
      <div className="flex flex-wrap gap-2">
        <Button look="danger" disabled={answering.busy} onClick={() => deny(false)}>
          Deny with this reason
          <span aria-hidden="true" className="text-small opacity-70 pointer-coarse:hidden">
            {formatKey("mod+enter")}
          </span>
        </Button>
        <Button look="quiet" disabled={answering.busy} onClick={() => deny(true)}>
          Deny and stop
        </Button>
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
