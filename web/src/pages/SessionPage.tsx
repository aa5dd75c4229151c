/** A session: its head, its talk, what it waits for, and where one writes. */
import { Link } from "@tanstack/react-router";
import { Composer } from "@/composer/Composer";
import { SessionHeader } from "@/composer/SessionHeader";
import { DecisionDock } from "@/dock/DecisionDock";
import { sessionRoute } from "@/routes";
import { useSession } from "@/state/app";
import { useTranscript, useTranscriptVersion } from "@/state/hooks";
import { TranscriptView } from "@/transcript/TranscriptView";
import { Boundary } from "@/ui/Boundary";
import { Empty } from "@/ui/Empty";

export function SessionPage() {
  const { id } = sessionRoute.useParams();
  return <OneSession key={id} id={id} />;
}

function OneSession({ id }: { id: string }) {
  const transcript = useTranscript(id);
  useTranscriptVersion(transcript);
  const session = useSession(id);
  if (transcript.state === "gone") {
    return (
      <Empty title="This session is not here" action={<Link to="/">To the sessions</Link>}>
        {transcript.problem}
      </Empty>
    );
  }
  if (!session)
    return (
      <Empty title={transcript.problem ? "The session cannot be loaded" : "Loading the session"}>
        {transcript.problem}
      </Empty>
    );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <SessionHeader session={session} />
      <Boundary what="The transcript" resetKey={id}>
        <TranscriptView transcript={transcript} />
      </Boundary>
      <DecisionDock session={session} transcript={transcript} />
      <Composer session={session} />
    </div>
  );
}
