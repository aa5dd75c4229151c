/** Bypassing permissions: needs a confirmation, shows a countdown, ends with one click. */
import { type ReactNode, useEffect, useState } from "react";
import { createPortal } from "react-dom";
import type { SessionView } from "@/api/types";
import { serverNow } from "@/format/serverClock";
import { useCommand } from "@/keys/useCommand";
import { configure } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { BYPASS, bypassEnd, modeNow } from "@/state/modes";
import { Button } from "@/ui/Button";
import { Sheet } from "@/ui/Sheet";
import { Countdown } from "./Clock";

/** When the bypass ends, in milliseconds, or 0; renders again when it does. */
export function useBypassEnd(session: SessionView): number {
  const [, draw] = useState(0);
  const end = bypassEnd(session, serverNow());
  useEffect(() => {
    if (!end) return;
    const timer = window.setTimeout(() => draw((drawn) => drawn + 1), Math.max(0, end - serverNow()) + 50);
    return () => window.clearTimeout(timer);
  }, [end]);
  return end;
}

export function endBypass(session: SessionView): void {
  void configure(session.id, { permission_mode: "default" });
}

/** The countdown and a button to end the bypass; without a bypass, the children. */
export function BypassState({ session, children }: { session: SessionView; children: ReactNode }) {
  const end = useBypassEnd(session);
  if (!end) return children;
  return (
    <button
      type="button"
      title="No approval is needed until then. Click to end the bypass."
      className="relative inline-flex h-5 items-center gap-1 rounded-box bg-failed-soft px-1.5 whitespace-nowrap text-failed hover:bg-failed hover:text-surface-0 pointer-coarse:after:absolute pointer-coarse:after:inset-x-0 pointer-coarse:after:-inset-y-3"
      onClick={() => endBypass(session)}
    >
      Bypass <Countdown until={end} /> <span className="underline">End</span>
    </button>
  );
}

/** A red frame around the page during a bypass. */
export function BypassFrame({ session }: { session: SessionView }) {
  const end = useBypassEnd(session);
  if (!end) return null;
  return createPortal(
    <div
      aria-hidden="true"
      data-testid="bypass-frame"
      className="pointer-events-none fixed inset-0 z-40 border-[3px] border-failed"
    />,
    document.body,
  );
}

const MINUTES = [5, 15, 30, 60] as const;

/** The confirmation before a bypass, and the commands of both modes. */
export function BypassDialog({
  session,
  open,
  onOpen,
}: {
  session: SessionView;
  open: boolean;
  onOpen: (open: boolean) => void;
}) {
  const allowed = useApp((state) => hasScope(state.me, "operate") && hasScope(state.me, "approve"));
  const [minutes, setMinutes] = useState<number>(15); // shorter than the server's default
  const end = useBypassEnd(session);
  useCommand("mode.bypass", () => (end ? endBypass(session) : onOpen(true)), allowed);
  useCommand(
    "mode.edits",
    () => {
      const permission_mode = modeNow(session, serverNow()) === "acceptEdits" ? "default" : "acceptEdits";
      void configure(session.id, { permission_mode });
    },
    allowed,
  );
  const begin = () => {
    onOpen(false);
    void configure(session.id, { permission_mode: BYPASS, bypass_minutes: minutes });
  };
  return (
    <Sheet
      open={open}
      onClose={() => onOpen(false)}
      title="Bypass permissions in this session"
      about="The agent runs commands and edits files without approval. Deny rules still apply."
      footer={
        <>
          <Button look="quiet" onClick={() => onOpen(false)}>
            Cancel
          </Button>
          <Button look="danger" onClick={begin}>
            Bypass for {minutes} minutes
          </Button>
        </>
      }
    >
      <div
        role="radiogroup"
        aria-labelledby="bypass-how-long"
        className="flex flex-wrap gap-x-5 gap-y-1 px-4 py-4"
      >
        <p id="bypass-how-long" className="m-0 w-full text-ink-2">
          For how long? After that, approval is needed again.
        </p>
        {MINUTES.map((each) => (
          <label key={each} className="target flex items-center gap-1.5">
            <input
              type="radio"
              name="bypass-minutes"
              checked={minutes === each}
              onChange={() => setMinutes(each)}
              className="accent-[var(--accent)]"
            />
            {each} minutes
          </label>
        ))}
      </div>
    </Sheet>
  );
}
