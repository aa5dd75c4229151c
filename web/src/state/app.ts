/** What every part of the page may look at: who is here, how the connection stands, all sessions at a glance. */
import { create } from "zustand";
import type { InteractionView, Me, ServerConfig, SessionView } from "@/api/types";
import type { Connection } from "@/stream/socket";
import { serverNow } from "@/words/now";

export interface Settled {
  outcome: string;
  by: string;
}

export interface AppState {
  /** `out`: nobody is signed in here. `down`: the server did not answer. */
  entry: "checking" | "in" | "out" | "down";
  problem: string;
  me: Me | null;
  config: ServerConfig | null;
  connection: Connection;
  /** Whether this page has been connected at all since it was loaded. */
  wasLive: boolean;
  nextTry: number;
  /** Another version of the server than the one this page came from. */
  outdated: boolean;
  sessions: Record<string, SessionView>;
  /** Whether the list has come at least once. */
  listed: boolean;
  /** How many sessions the server has that are not archived; the list may hold only the newest of them. */
  total: number;
  /** How many sessions the server still has to load after it was started. */
  loading: number;
  /** Interactions that were settled while this page looked on: by whom, and how. */
  settled: Record<string, Settled>;
}

export const useApp = create<AppState>(() => ({
  entry: "checking",
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

/** An answer to a request may come after the stream has told of what followed: the newer one stays. */
export function putSession(session: SessionView): void {
  useApp.setState((state) =>
    (state.sessions[session.id]?.seq ?? 0) > session.seq
      ? state
      : { sessions: { ...state.sessions, [session.id]: session } },
  );
}

/** Several at once; what is known here to be newer stays. */
export function putSessions(found: SessionView[]): void {
  useApp.setState((state) => {
    const sessions = { ...state.sessions };
    for (const each of found) if ((sessions[each.id]?.seq ?? -1) < each.seq) sessions[each.id] = each;
    return { sessions };
  });
}

/** So many are remembered: who still looks at one that is older has long read how it came out. */
export const MOST_SETTLED = 200;

export function putSettled(id: string, how: Settled): void {
  useApp.setState((state) => {
    const all = Object.entries({ ...state.settled, [id]: how });
    return { settled: Object.fromEntries(all.slice(-MOST_SETTLED)) };
  });
}

export function useSession(id: string): SessionView | undefined {
  return useApp((state) => state.sessions[id]);
}

export function may(me: Me | null, scope: Me["scopes"][number]): boolean {
  return me?.scopes.includes(scope) === true || me?.scopes.includes("admin") === true;
}

export interface Waiting {
  session: SessionView;
  interaction: InteractionView;
}

/** Cut off longer ago than this, nobody is waiting for it any more. */
const RESUMED_WITHIN = 7 * 86_400;

/** Work that ended without an answer and without anybody stopping it: only then the server says why. */
export function isCutOff(session: SessionView, now = serverNow() / 1000): boolean {
  const recent = now - (session.ended_at || session.updated_at) < RESUMED_WITHIN;
  return session.status === "interrupted" && session.error !== "" && !session.archived && recent;
}

let cut: { of: Record<string, SessionView>; found: SessionView[] } = { of: {}, found: [] };

/** All of it, the newest first. */
export function interruptedWork(sessions: Record<string, SessionView>): SessionView[] {
  if (cut.of !== sessions) {
    const found = Object.values(sessions).filter((each) => isCutOff(each));
    cut = { of: sessions, found: found.sort((a, b) => b.updated_at - a.updated_at) };
  }
  return cut.found;
}

/** How many things wait for a person, whatever they are. */
export function needCount(sessions: Record<string, SessionView>): number {
  return waiting(sessions).length + interruptedWork(sessions).length;
}

let counted: { of: Record<string, SessionView>; found: Waiting[] } = { of: {}, found: [] };

/** All that waits for a person, the oldest first. Asked by many at each change, and looked for once. */
export function waiting(sessions: Record<string, SessionView>): Waiting[] {
  if (counted.of !== sessions) counted = { of: sessions, found: lookedFor(sessions) };
  return counted.found;
}

function lookedFor(sessions: Record<string, SessionView>): Waiting[] {
  const found: Waiting[] = [];
  for (const session of Object.values(sessions)) {
    if (session.archived) continue;
    for (const interaction of session.interactions) found.push({ session, interaction });
  }
  return found.sort((a, b) => a.interaction.opened_at - b.interaction.opened_at);
}
