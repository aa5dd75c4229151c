/** Stop while something runs, by force if that takes too long; try again after a failure. */
import { useEffect, useState } from "react";
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { confirm } from "@/shell/confirm";
import { interrupt, kill, retry } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { isBusy } from "./standing";

/** A stop that takes longer than this may be forced. */
const PATIENCE_MS = 5000;

async function force(session: SessionView): Promise<void> {
  const sure = await confirm({
    title: "Stop the agent by force?",
    words:
      "Its process is ended. What it was doing is cut off; the transcript and all files stay as they are.",
    action: "Stop by force",
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
    const timer = window.setTimeout(() => setLong(true), PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, [stopping]);
  return long && stopping;
}

function isRetried({ status }: SessionView): boolean {
  return status === "failed" || status === "interrupted";
}

/** The keys, once a page. */
export function useStopCommands(session: SessionView): void {
  const allowed = useApp((state) => may(state.me, "operate"));
  useCommand("stop", () => void interrupt(session.id), allowed && isBusy(session));
  useCommand("kill", () => void force(session), allowed && isBusy(session));
  useCommand("retry", () => void retry(session.id), allowed && isRetried(session));
}

/** With words, or only as a sign where there is no room for them. */
export function StopOrRetry({ session, signs = false }: { session: SessionView; signs?: boolean }) {
  const allowed = useApp((state) => may(state.me, "operate"));
  const slow = useTakesLong(session);
  if (!allowed) return null;
  if (isRetried(session)) {
    const [label, long] = session.status === "failed" ? ["Retry", "Try again"] : ["Resume", "Resume session"];
    return signs ? (
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
    if (signs || !slow) return null;
    return (
      <Button look="danger" onClick={() => void force(session)}>
        Stop by force
      </Button>
    );
  }
  return signs ? (
    <IconButton label="Stop the agent" command="stop" onClick={() => void interrupt(session.id)}>
      <Icon name="stop" />
    </IconButton>
  ) : (
    <Button command="stop" icon={<Icon name="stop" size={12} />} onClick={() => void interrupt(session.id)}>
      Stop
    </Button>
  );
}
