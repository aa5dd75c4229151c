/** What somebody has filled in for a new session. It survives a reload; what is usual for them stays for the next one. */
import { create } from "zustand";
import { createJSONStorage, persist, type StateStorage } from "zustand/middleware";
import type { NewSession, Workflow } from "@/api/types";

export interface Draft {
  cwd: string;
  prompt: string;
  workflow: Workflow;
  engine: string;
  model: string;
  permission: string;
  worktree: boolean;
  branch: string;
  turns: string;
  budget: string;
  /** One session comes of one draft, however often it is sent (FM-7). */
  clientId: string;
}

const EMPTY: Draft = {
  cwd: "",
  prompt: "",
  workflow: "chat",
  engine: "native",
  model: "",
  permission: "",
  worktree: false,
  branch: "",
  turns: "",
  budget: "",
  clientId: "",
};

interface Drafting extends Draft {
  set(change: Partial<Draft>): void;
  /** It became a session: the words go, the choices stay. */
  sent(): void;
}

const WRITE_MS = 300;

/** Long texts are not written at every key. */
function lazily(storage: Storage): StateStorage {
  let waiting: (() => void) | null = null;
  let timer = 0;
  const flush = () => {
    window.clearTimeout(timer);
    waiting?.();
    waiting = null;
  };
  window.addEventListener("pagehide", flush);
  document.addEventListener("visibilitychange", flush);
  return {
    getItem: (name) => storage.getItem(name),
    removeItem: (name) => storage.removeItem(name),
    setItem: (name, value) => {
      waiting = () => {
        try {
          storage.setItem(name, value);
        } catch {
          // no room: the draft lives as long as the page
        }
      };
      window.clearTimeout(timer);
      timer = window.setTimeout(flush, WRITE_MS);
    },
  };
}

export const useDraft = create<Drafting>()(
  persist(
    (set) => ({
      ...EMPTY,
      set: (change) => set(change),
      sent: () => set({ prompt: "", branch: "", worktree: false, clientId: "" }),
    }),
    { name: "bobstay.new", storage: createJSONStorage(() => lazily(localStorage)) },
  ),
);

/** As the server takes it, or what is wrong, by field. */
export function asked(draft: Draft, defaultTurns: number): Partial<NewSession> & { cwd: string } {
  return {
    cwd: draft.cwd.trim(),
    prompt: draft.prompt,
    workflow: draft.workflow,
    engine: draft.engine,
    model: draft.model.trim(),
    permission_mode: draft.permission as NewSession["permission_mode"],
    max_turns: draft.turns.trim() ? Number(draft.turns) : defaultTurns,
    max_budget_usd: draft.budget.trim() ? Number(draft.budget) : null,
    worktree: draft.worktree,
    branch: draft.worktree ? draft.branch.trim() : "",
    client_id: draft.clientId,
  };
}
