/** Unread marks: sessions that finished since this browser last showed them. */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { SessionView } from "@/api/types";

const NAME = "bobstay.seen";
/** Per browser; the oldest are dropped. */
const MAX_SESSIONS = 2000;

interface Seen {
  /** End of the newest session at the first visit: nothing older counts as unread. */
  baseline: number | null;
  /** End time of each session when it was last seen, by the server's clock. */
  ended: Record<string, number>;
}

export const useSeen = create<Seen>()(persist((): Seen => ({ baseline: null, ended: {} }), { name: NAME }));

// Adopt what another tab has seen.
if (typeof window !== "undefined")
  window.addEventListener("storage", (event) => {
    if (event.key === NAME) void useSeen.persist.rehydrate();
  });

const ENDED: ReadonlySet<SessionView["status"]> = new Set(["completed", "failed", "interrupted"]);

type Ending = Pick<SessionView, "id" | "status" | "ended_at">;

export function isUnread(session: Ending, seen: Pick<Seen, "baseline" | "ended">): boolean {
  if (!ENDED.has(session.status) || seen.baseline === null) return false;
  return session.ended_at > (seen.ended[session.id] ?? seen.baseline);
}

/** On the first visit everything that has ended counts as seen. */
export function setUnreadBaseline(sessions: readonly Ending[]): void {
  if (useSeen.getState().baseline !== null) return;
  useSeen.setState({ baseline: Math.max(0, ...sessions.map((each) => each.ended_at)) });
}

export function markSeen(session: Ending): void {
  const { ended } = useSeen.getState();
  if (!session.ended_at || (ended[session.id] ?? 0) >= session.ended_at) return;
  const kept = Object.entries(ended).filter(([id]) => id !== session.id);
  useSeen.setState({
    ended: Object.fromEntries([...kept, [session.id, session.ended_at]].slice(-MAX_SESSIONS)),
  });
}
