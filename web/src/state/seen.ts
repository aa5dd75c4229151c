/** Which sessions have finished since this browser last showed them. */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { SessionView } from "@/api/types";

const NAME = "bobstay.seen";
/** Of one browser; the oldest are forgotten. */
const MOST = 2000;

interface Seen {
  /** Sessions that ended before this were there when the browser first came: none of them is unread. */
  baseline: number | null;
  /** When each session had ended as it was last looked at, by the server's clock. */
  ended: Record<string, number>;
}

export const useSeen = create<Seen>()(persist((): Seen => ({ baseline: null, ended: {} }), { name: NAME }));

// Another tab has looked at something: what it remembers counts here too.
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

/** On the first visit everything that has ended counts as read. */
export function beginReading(sessions: readonly Ending[]): void {
  if (useSeen.getState().baseline !== null) return;
  useSeen.setState({ baseline: Math.max(0, ...sessions.map((each) => each.ended_at)) });
}

export function markSeen(session: Ending): void {
  const { ended } = useSeen.getState();
  if (!session.ended_at || (ended[session.id] ?? 0) >= session.ended_at) return;
  const kept = Object.entries(ended).filter(([id]) => id !== session.id);
  useSeen.setState({ ended: Object.fromEntries([...kept, [session.id, session.ended_at]].slice(-MOST)) });
}
