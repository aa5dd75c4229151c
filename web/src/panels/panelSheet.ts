/** The panel as an overlay or sheet, opened from anywhere. */
import { create } from "zustand";
import { type PanelTab, useUi } from "@/state/ui";

export const usePanelSheet = create<{ open: boolean }>(() => ({ open: false }));

export function openPanel(tab?: PanelTab): void {
  useUi.getState().set({ panel: true, ...(tab ? { tab } : {}) });
  usePanelSheet.setState({ open: true });
}
