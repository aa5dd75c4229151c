/** How a person likes the page: remembered in this browser, and nothing the server has to know. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export type PanelTab = "diff" | "files" | "terminal" | "tasks" | "context" | "events";
export type Theme = "system" | "dark" | "light";

interface Ui {
  theme: Theme;
  sidebar: boolean;
  panel: boolean;
  tab: PanelTab;
  /** Widths in pixels. */
  sidebarWidth: number;
  panelWidth: number;
  grouping: "state" | "project";
  /** The right panel lies over the transcript, wide enough to read a diff side by side. */
  panelWide: boolean;
  hideTools: boolean;
  hideThinking: boolean;
  diffSplit: boolean;
  /** Whose changes are shown: the session's, those of its last turn, or all in its directory. */
  diffScope: "session" | "turn" | "all";
  /** Desktop notifications while the page is not seen; `notifyDone`: also of what is done. */
  notify: boolean;
  notifyDone: boolean;
  welcomed: boolean;
  set(change: Partial<Omit<Ui, "set">>): void;
}

export const useUi = create<Ui>()(
  persist(
    (set) => ({
      theme: "system",
      sidebar: true,
      panel: true,
      tab: "diff",
      sidebarWidth: 272,
      panelWidth: 420,
      grouping: "state",
      panelWide: false,
      hideTools: false,
      hideThinking: false,
      diffSplit: false,
      diffScope: "session",
      notify: false,
      notifyDone: false,
      welcomed: false,
      set: (change) => set(change),
    }),
    { name: "bobstay.ui" },
  ),
);

/** What is open, by row: survives switching between sessions, not a reload. */
interface Folds {
  open: Record<string, boolean>;
  toggle(id: string, open: boolean): void;
}

export const useFolds = create<Folds>((set) => ({
  open: {},
  toggle: (id, open) => set((state) => ({ open: { ...state.open, [id]: open } })),
}));
