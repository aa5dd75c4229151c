/** The file shown in the Files panel, by session. */
import { create } from "zustand";
import { foldersAbove } from "./tree";
import { setOpened } from "./useFolders";

export interface Chosen {
  path: string;
  /** 0: the top. */
  line: number;
}

export const useChosen = create<{ of: Record<string, Chosen> }>(() => ({ of: {} }));

/** Also expands the tree to it. */
export function showFile(sessionId: string, path: string, line = 0): void {
  setOpened(sessionId, (open) => {
    for (const folder of foldersAbove(path)) open.add(folder);
  });
  useChosen.setState((state) => ({ of: { ...state.of, [sessionId]: { path, line } } }));
}

export function leaveFile(sessionId: string): void {
  useChosen.setState((state) => {
    const { [sessionId]: _, ...rest } = state.of;
    return { of: rest };
  });
}
