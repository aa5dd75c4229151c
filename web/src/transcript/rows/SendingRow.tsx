/** Messages that are being sent, and the first prompt of a new session. */
import { serverNow } from "@/format/serverClock";
import { useSession } from "@/state/app";
import type { Sending } from "@/state/transcript";
import { MessageText } from "./UserRow";

export function SendingRow({ sending }: { sending: Sending }) {
  return (
    <div className="my-2 rounded-box bg-surface-1 px-3 py-2 opacity-70">
      <div className="text-small text-ink-3">
        <span className="font-medium text-ink-2">You</span> sending
      </div>
      <MessageText text={sending.text} />
    </div>
  );
}

/** Seconds after creation in which the first prompt is shown before the log has loaded. */
const JUST_STARTED_SECONDS = 20;

/** The first prompt of a new session, shown until its log has loaded. */
export function FirstPrompt({ sessionId }: { sessionId: string }) {
  const session = useSession(sessionId);
  if (!session?.first_prompt || serverNow() / 1000 - session.created_at > JUST_STARTED_SECONDS) return null;
  return (
    <div className="my-2 rounded-box bg-surface-1 px-3 py-2">
      <div className="text-small font-medium text-ink-2">You</div>
      <MessageText text={session.first_prompt} />
    </div>
  );
}
