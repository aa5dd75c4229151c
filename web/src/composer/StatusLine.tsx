/** Status line above the composer. */
import type { SessionView } from "@/api/types";
import { runCommand } from "@/keys/useCommand";
import { useOfTranscript } from "@/state/hooks";
import { transcriptOf } from "@/stream/connection";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { statusStyle } from "@/ui/Status";
import { VisibleText } from "@/ui/VisibleText";
import { StopOrRetry } from "./StopOrRetry";
import { statusText } from "./sessionStatus";
import { TokenUsageBadge } from "./TokenBadge";

export function SessionStatusLine({ session }: { session: SessionView }) {
  const retrying = useOfTranscript(transcriptOf(session.id), (each) => each.fold.activity?.retry ?? "");
  const { shape, colour } = statusStyle(session.status);
  const text = statusText(session);
  return (
    <div className="flex min-h-8 items-center gap-2">
      <span aria-hidden="true" className={`w-3.5 text-center ${colour}`}>
        {shape}
      </span>
      <p
        role="status"
        aria-label="Session status"
        title={text}
        className={`m-0 min-w-0 truncate ${session.status === "failed" ? "text-failed" : "text-ink-2"}`}
      >
        <VisibleText text={text} />
      </p>
      {retrying && <span className="min-w-0 truncate text-small text-needs">{retrying}</span>}
      <span className="flex-1" />
      <InBackground session={session} />
      <TokenUsageBadge session={session} />
      <StopOrRetry session={session} />
    </div>
  );
}

/** How many agents and commands run in the background; opens their list. */
function InBackground({ session }: { session: SessionView }) {
  const running = session.background.filter((each) => each.state === "running" && !each.is_awaited).length;
  if (running === 0) return null;
  return (
    <Button
      look="quiet"
      command="background"
      className="h-6 shrink-0 px-1.5 text-small"
      icon={<Icon name="list" size={12} />}
      onClick={() => runCommand("background")}
    >
      <span className="tabular">{`${running} in background`}</span>
    </Button>
  );
}
