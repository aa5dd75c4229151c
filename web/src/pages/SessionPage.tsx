/** Session page: header, transcript, pending approvals and composer. */
import { Link, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import type { SessionView } from "@/api/types";
import { PendingApprovals } from "@/approvals/PendingApprovals";
import { Composer } from "@/composer/Composer";
import { useSession } from "@/state/app";
import { useOfTranscript, useTranscript } from "@/state/hooks";
import { useInventoryUpdates } from "@/state/inventory";
import { markSeen } from "@/state/unread";
import { TranscriptView } from "@/transcript/TranscriptView";
import { Empty } from "@/ui/Empty";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { SessionHeader } from "./session/SessionHeader";

export function SessionPage() {
  const { id } = useParams({ from: "/session/$id" });
  return <OneSession key={id} id={id} />;
}

function OneSession({ id }: { id: string }) {
  const transcript = useTranscript(id);
  // Rows subscribe for themselves; the page only observes these values.
  const state = useOfTranscript(transcript, (all) => all.state);
  const problem = useOfTranscript(transcript, (all) => all.problem);
  const session = useSession(id);
  useMarkSeen(session);
  useInventoryUpdates(session);
  if (state === "gone") {
    return (
      <Empty page title="Session not found" action={<Link to="/">Back to sessions</Link>}>
        {problem}
      </Empty>
    );
  }
  if (!session)
    return (
      <Empty page title={problem ? "Session could not be loaded" : "Loading session"}>
        {problem}
      </Empty>
    );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <SessionHeader session={session} />
      <ErrorBoundary label="The transcript" resetKey={id}>
        <TranscriptView transcript={transcript} />
      </ErrorBoundary>
      <PendingApprovals session={session} transcript={transcript} />
      <Composer session={session} />
    </div>
  );
}

/** Marks the session as seen while the tab is visible. */
function useMarkSeen(session: SessionView | undefined): void {
  const ended = session?.ended_at ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new end makes it unread again
  useEffect(() => {
    const look = () => {
      if (session && document.visibilityState === "visible") markSeen(session);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [session?.id, ended]);
}
