/** Stop, force stop after a while, or retry after a failure. */
import { useEffect, useState } from "react";
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { interrupt, kill, retry } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button, IconButton } from "@/ui/Button";
import { confirm } from "@/ui/confirm";
import { Icon } from "@/ui/Icon";
import { isBusy } from "./sessionStatus";

/** A stop that takes longer can be forced. */
const FORCE_AFTER_MS = 5000;

async function forceStop(session: SessionView): Promise<void> {
  const sure = await confirm({
    title: "Force stop the agent?",
    text: "Its process is killed and the current work is cut off. The transcript and all files are kept.",
    action: "Force stop",
    danger: true,
  });
  if (sure) await kill(session.id);
}

function useTakesLong(session: SessionView): boolean {
  const [long, setLong] = useState(false);
  const stopping = session.status === "interrupting";
  useEffect(() => {
    setLong(false);
    if (!stopping) return;
    const timer = window.setTimeout(() => setLong(true), FORCE_AFTER_MS);
    return () => window.clearTimeout(timer);
  }, [stopping]);
  return long && stopping;
}

function canRetry({ status }: SessionView): boolean {
  return status === "failed" || status === "interrupted";
}

/** Registers the commands; once per page. */
export function useStopCommands(session: SessionView): void {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  useCommand("stop", () => void interrupt(session.id), allowed && isBusy(session));
  useCommand("kill", () => void forceStop(session), allowed && isBusy(session));
  useCommand("retry", () => void retry(session.id), allowed && canRetry(session));
}

/** With a label, or as icons only where space is limited. */
export function StopOrRetry({ session, iconOnly = false }: { session: SessionView; iconOnly?: boolean }) {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const slow = useTakesLong(session);
  if (!allowed) return null;
  if (canRetry(session)) {
    const [label, long] = session.status === "failed" ? ["Retry", "Try again"] : ["Resume", "Resume session"];
    return iconOnly ? (
      <IconButton label={long} command="retry" onClick={() => void retry(session.id)}>
        <Icon name="retry" />
      </IconButton>
    ) : (
      <Button command="retry" onClick={() => void retry(session.id)}>
        {label}
      </Button>
    );
  }
  if (!isBusy(session)) return null;
  if (session.status === "interrupting") {
    if (iconOnly || !slow) return null;
    return (
      <Button look="danger" onClick={() => void forceStop(session)}>
        Force stop
      </Button>
    );
  }
  return iconOnly ? (
    <IconButton label="Stop the agent" command="stop" onClick={() => void interrupt(session.id)}>
      <Icon name="stop" />
    </IconButton>
  ) : (
    <Button command="stop" icon={<Icon name="stop" size={12} />} onClick={() => void interrupt(session.id)}>
      Stop
    </Button>
  );
}
