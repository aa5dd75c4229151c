/** A column of the comparison: model, mode, status, cost and transcript. */
import { Link } from "@tanstack/react-router";
import { duration, money, plural } from "@/format/values";
import { useApp, useSession } from "@/state/app";
import { useTranscript, useTranscriptVersion } from "@/state/hooks";
import { permissionLabel, workflowLabel } from "@/state/modes";
import { TranscriptView } from "@/transcript/TranscriptView";
import { IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { StatusMark } from "@/ui/Status";

export function ColumnHead({ id, onLeave }: { id: string; onLeave: () => void }) {
  const session = useSession(id);
  const config = useApp((state) => state.config);
  const name = session?.title || session?.first_prompt.split("\n")[0] || "Session";
  const ended = session?.ended_at || session?.updated_at || 0;
  return (
    <header className="hairline-b px-3 py-2">
      <div className="flex items-center gap-2">
        {session && <StatusMark session={session} />}
        <Link to="/session/$id" params={{ id }} className="min-w-0 flex-1 truncate font-medium no-underline">
          {name}
        </Link>
        <IconButton label={`Remove ${name}`} onClick={onLeave}>
          <Icon name="close" size={14} />
        </IconButton>
      </div>
      {session && (
        <p className="tabular m-0 truncate text-small text-ink-3">
          {[
            session.model || session.config.model || "default model",
            workflowLabel(config, session.config.workflow),
            permissionLabel(config, session.permission_mode),
            money(session.cost),
            plural(session.turns, "turn"),
            `${Math.round((session.context / Math.max(1, session.context_limit)) * 100)}% ctx`,
            duration(Math.max(0, ended - session.created_at) * 1000),
          ].join(" · ")}
        </p>
      )}
    </header>
  );
}

export function CompareTranscript({ id, number }: { id: string; number: number }) {
  const transcript = useTranscript(id);
  useTranscriptVersion(transcript);
  if (transcript.state === "gone") return <Empty title="Session not found">{transcript.problem}</Empty>;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <ErrorBoundary label="The transcript" resetKey={id}>
        <TranscriptView transcript={transcript} label={`Transcript ${number}`} />
      </ErrorBoundary>
    </div>
  );
}
