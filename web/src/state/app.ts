/** Global state: who is signed in, the connection, and all sessions. */
import { create } from "zustand";
import type { InteractionView, Me, ServerConfig, SessionView } from "@/api/types";
import { serverNow } from "@/format/serverClock";
import type { Connection } from "@/stream/socket";

export interface Settled {
  outcome: string;
  by: string;
}

export interface AppState {
  /** `out`: signed out. `down`: the server did not answer. */
  auth: "checking" | "in" | "out" | "down";
  problem: string;
  me: Me | null;
  config: ServerConfig | null;
  connection: Connection;
  /** Whether this page has been connected at all since it was loaded. */
  wasLive: boolean;
  nextTry: number;
  /** The server's version differs from the one this page came from. */
  outdated: boolean;
  sessions: Record<string, SessionView>;
  /** Whether the list has been loaded. */
  listed: boolean;
  /** Sessions on the server that are not archived; the list may hold only the newest of them. */
  total: number;
  /** Sessions the server still has to load after its start. */
  loading: number;
  /** Interactions resolved while this page was open: by whom, and how. */
  settled: Record<string, Settled>;
}

export const useApp = create<AppState>(() => ({
  auth: "checking",
  problem: "",
  me: null,
  config: null,
  connection: "connecting",
  wasLive: false,
  nextTry: 0,
  outdated: false,
  sessions: {},
  listed: false,
  total: 0,
  loading: 0,
  settled: {},
}));

/** A response may arrive after newer state from the stream: the newer one stays. */
export function putSession(session: SessionView): void {
  useApp.setState((state) =>
    (state.sessions[session.id]?.seq ?? 0) > session.seq
      ? state
      : { sessions: { ...state.sessions, [session.id]: session } },
  );
}

/** Adds several sessions; newer state that is here already stays. */
export function putSessions(found: SessionView[]): void {
  useApp.setState((state) => {
    const sessions = { ...state.sessions };
    for (const each of found) if ((sessions[each.id]?.seq ?? -1) < each.seq) sessions[each.id] = each;
    return { sessions };
  });
}

/** Only the latest are kept. */
export const MAX_SETTLED = 200;

export function putSettled(id: string, how: Settled): void {
  useApp.setState((state) => {
    const all = Object.entries({ ...state.settled, [id]: how });
    return { settled: Object.fromEntries(all.slice(-MAX_SETTLED)) };
  });
}

export function useSession(id: string): SessionView | undefined {
  return useApp((state) => state.sessions[id]);
}

export function hasScope(me: Me | null, scope: Me["scopes"][number]): boolean {
  return me?.scopes.includes(scope) === true || me?.scopes.includes("admin") === true;
}

export interface PendingInteraction {
  session: SessionView;
  interaction: InteractionView;
}

/** Work that was cut off longer ago is not offered for resuming. */
const RESUMABLE_SECONDS = 7 * 86_400;

/** Whether a session was interrupted without anybody stopping it: only then has it an error. */
export function wasCutOff(session: SessionView, now = serverNow() / 1000): boolean {
  const recent = now - (session.ended_at || session.updated_at) < RESUMABLE_SECONDS;
  return session.status === "interrupted" && session.error !== "" && !session.archived && recent;
}

let cut: { of: Record<string, SessionView>; found: SessionView[] } = { of: {}, found: [] };

/** All such sessions, the newest first. */
export function interruptedWork(sessions: Record<string, SessionView>): SessionView[] {
  if (cut.of !== sessions) {
    const found = Object.values(sessions).filter((each) => wasCutOff(each));
    cut = { of: sessions, found: found.sort((a, b) => b.updated_at - a.updated_at) };
  }
  return cut.found;
}

/** How many requests and interrupted sessions need a person. */
export function attentionCount(sessions: Record<string, SessionView>): number {
  return pendingInteractions(sessions).length + interruptedWork(sessions).length;
}

let counted: { of: Record<string, SessionView>; found: PendingInteraction[] } = { of: {}, found: [] };

/** All pending interactions, the oldest first. Computed once per change of `sessions`. */
export function pendingInteractions(sessions: Record<string, SessionView>): PendingInteraction[] {
  if (counted.of !== sessions) counted = { of: sessions, found: collectPending(sessions) };
  return counted.found;
}

function collectPending(sessions: Record<string, SessionView>): PendingInteraction[] {
  const found: PendingInteraction[] = [];
  for (const session of Object.values(sessions)) {
    if (session.archived) continue;
    for (const interaction of session.interactions) found.push({ session, interaction });
  }
  return found.sort((a, b) => a.interaction.opened_at - b.interaction.opened_at);
}
