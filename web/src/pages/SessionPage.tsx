/** A session: its head, its talk, what it waits for, and where one writes. */
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { SessionView } from "@/api/types";
import { Composer } from "@/composer/Composer";
import { SessionHeader } from "@/composer/SessionHeader";
import { DecisionDock } from "@/dock/DecisionDock";
import { sessionRoute } from "@/routes";
import { useSession } from "@/state/app";
import { useOfTranscript, useTranscript } from "@/state/hooks";
import { markSeen } from "@/state/seen";
import { TranscriptView } from "@/transcript/TranscriptView";
import { Boundary } from "@/ui/Boundary";
import { Empty } from "@/ui/Empty";

export function SessionPage() {
  const { id } = sessionRoute.useParams();
  return <OneSession key={id} id={id} />;
}

function OneSession({ id }: { id: string }) {
  const transcript = useTranscript(id);
  // Not everything that changes: rows are drawn by those who show them.
  const state = useOfTranscript(transcript, (all) => all.state);
  const problem = useOfTranscript(transcript, (all) => all.problem);
  const session = useSession(id);
  useReading(session);
  if (state === "gone") {
    return (
      <Empty page title="This session is not here" action={<Link to="/">Back to sessions</Link>}>
        {problem}
      </Empty>
    );
  }
  if (!session)
    return (
      <Empty page title={problem ? "The session cannot be loaded" : "Loading the session"}>
        {problem}
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

/** What is on the screen of a tab that is looked at is read. */
function useReading(session: SessionView | undefined): void {
  const ended = session?.ended_at ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another ending is something new to read
  useEffect(() => {
    const look = () => {
      if (session && document.visibilityState === "visible") markSeen(session);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [session?.id, ended]);
}
