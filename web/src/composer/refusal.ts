/** Why sending is disabled, and whether the draft can still be edited. */
import type { Me, SessionView } from "@/api/types";
import { hasScope, useApp } from "@/state/app";
import type { Connection } from "@/stream/socket";

export interface Refusal {
  /** Empty if sending is possible. */
  reason: string;
  canWrite: boolean;
}

export function refusalOf(session: SessionView, me: Me | null, connection: Connection): Refusal {
  if (!hasScope(me, "operate"))
    return { reason: "You can read this session, but not write to it.", canWrite: false };
  if (session.config.inputs === "locked")
    return { reason: "This session is locked and accepts no messages.", canWrite: false };
  if (session.status === "discarded") return { reason: "This session was deleted.", canWrite: false };
  if (connection !== "live") return { reason: "Offline. Your draft is saved.", canWrite: true };
  return { reason: "", canWrite: true };
}

export function useRefusal(session: SessionView): Refusal {
  const me = useApp((state) => state.me);
  const connection = useApp((state) => state.connection);
  return refusalOf(session, me, connection);
}
