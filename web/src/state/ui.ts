/** Preferences of the page, stored in this browser. */
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
  /** The right panel overlays the transcript, wide enough for a side-by-side diff. */
  panelWide: boolean;
  hideTools: boolean;
  hideThinking: boolean;
  diffSplit: boolean;
  /** Which changes are shown: the session's, its last turn's, or all in the directory. */
  diffScope: "session" | "turn" | "all";
  /** Desktop notifications while the tab is hidden; `notifyDone`: for finished work, too. */
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

/** Expanded rows: kept while switching between sessions, not over a reload. */
interface Folds {
  open: Record<string, boolean>;
  toggle(id: string, open: boolean): void;
}

export const useFolds = create<Folds>((set) => ({
  open: {},
  toggle: (id, open) => set((state) => ({ open: { ...state.open, [id]: open } })),
}));
