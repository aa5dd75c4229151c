/** Why nothing can be sent now, in words, and whether one may write all the same: what is written is kept. */
import type { Me, SessionView } from "@/api/types";
import { may, useApp } from "@/state/app";
import type { Connection } from "@/stream/socket";

export interface Refusal {
  /** Empty where nothing stands in the way. */
  words: string;
  mayWrite: boolean;
}

export function refusalOf(session: SessionView, me: Me | null, connection: Connection): Refusal {
  if (!may(me, "operate"))
    return { words: "You may look at this session, but not write to it.", mayWrite: false };
  if (session.config.inputs === "locked")
    return { words: "This session is locked: it takes no messages.", mayWrite: false };
  if (session.status === "discarded") return { words: "This session was deleted.", mayWrite: false };
  if (connection !== "live") return { words: "Offline. Your draft is saved.", mayWrite: true };
  return { words: "", mayWrite: true };
}

export function useRefusal(session: SessionView): Refusal {
  const me = useApp((state) => state.me);
  const connection = useApp((state) => state.connection);
  return refusalOf(session, me, connection);
}
