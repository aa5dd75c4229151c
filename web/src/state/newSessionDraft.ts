/** Draft of the new session form, kept over a reload. The options stay for the next session. */
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
  /** Idempotency key: one draft creates one session, however often it is sent. */
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

interface DraftStore extends Draft {
  set(change: Partial<Draft>): void;
  /** After the start: clears the prompt, keeps the options. */
  sent(): void;
}

const WRITE_MS = 300;

/** Delays writes while typing. */
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
          // no space: the draft is kept in memory
        }
      };
      window.clearTimeout(timer);
      timer = window.setTimeout(flush, WRITE_MS);
    },
  };
}

export const useDraft = create<DraftStore>()(
  persist(
    (set) => ({
      ...EMPTY,
      set: (change) => set(change),
      sent: () => set({ prompt: "", branch: "", worktree: false, clientId: "" }),
    }),
    { name: "bobstay.new", storage: createJSONStorage(() => lazily(localStorage)) },
  ),
);

/** The request body of a draft. */
export function newSessionBody(draft: Draft, defaultTurns: number): Partial<NewSession> & { cwd: string } {
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
