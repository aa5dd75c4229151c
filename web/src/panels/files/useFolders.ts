/** Loads the directories of a session when they are expanded. */
import { useQueries } from "@tanstack/react-query";
import { create } from "zustand";
import { api, errorMessage, unwrap } from "@/api/client";
import type { Folder } from "./tree";

interface Opened {
  of: Record<string, ReadonlySet<string>>;
}

/** Expanded directories by session. */
export const useOpened = create<Opened>(() => ({ of: {} }));

export function setOpened(sessionId: string, change: (open: Set<string>) => void): void {
  useOpened.setState((state) => {
    const next = new Set(state.of[sessionId]);
    change(next);
    return { of: { ...state.of, [sessionId]: next } };
  });
}

const NONE: ReadonlySet<string> = new Set();

export function useOpenedOf(sessionId: string): ReadonlySet<string> {
  return useOpened((state) => state.of[sessionId] ?? NONE);
}

export function useFolders(sessionId: string, open: ReadonlySet<string>): ReadonlyMap<string, Folder> {
  const paths = ["", ...open];
  return useQueries({
    queries: paths.map((path) => ({
      queryKey: ["files", sessionId, path],
      queryFn: () =>
        unwrap(api.GET("/sessions/{id}/files", { params: { path: { id: sessionId }, query: { path } } })),
      staleTime: 5_000,
    })),
    combine: (results) => {
      const folders = new Map<string, Folder>();
      results.forEach(({ data, error }, index) => {
        const path = paths[index] ?? "";
        if (data)
          folders.set(path, { entries: data.entries, more: data.total - data.entries.length, problem: "" });
        else if (error) folders.set(path, { entries: [], more: 0, problem: errorMessage(error) });
      });
      return folders;
    },
  });
}
