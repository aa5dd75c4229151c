/** Words that are on their way to the server, or that a session has just begun with. */
import { useSession } from "@/state/app";
import type { Sending } from "@/state/transcript";
import { serverNow } from "@/words/now";
import { Words } from "./UserRow";

export function SendingRow({ sending }: { sending: Sending }) {
  return (
    <div className="my-2 rounded-box bg-surface-1 px-3 py-2 opacity-70">
      <div className="text-small text-ink-3">
        <span className="font-medium text-ink-2">You</span> sending
      </div>
      <Words text={sending.text} />
    </div>
  );
}

/** Seconds in which a session counts as one that has just begun: what it began with is then what is on the screen. */
const JUST = 20;

/** Who has just started a session sees their words at once, not an empty page until its log has come. */
export function FirstWords({ sessionId }: { sessionId: string }) {
  const session = useSession(sessionId);
  if (!session?.first_prompt || serverNow() / 1000 - session.created_at > JUST) return null;
  return (
    <div className="my-2 rounded-box bg-surface-1 px-3 py-2">
      <div className="text-small font-medium text-ink-2">You</div>
      <Words text={session.first_prompt} />
    </div>
  );
}
