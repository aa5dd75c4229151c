/** Loads a session's changes, and again shortly after the server reports a change. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, unwrap } from "@/api/client";
import type { WorkingChanges } from "@/api/types";
import { useSession } from "@/state/app";
import { onFrame } from "@/stream/connection";

/** Debounce in milliseconds: an agent writes many files at once. */
const CALM = 400;
/** Maximum delay in milliseconds. */
const AT_LEAST = 2_000;

export type Scope = "session" | "turn" | "all";

export function changesKey(sessionId: string, scope: Scope) {
  return ["diff", sessionId, "list", scope];
}

/** Disabled for an empty id and for deleted sessions. */
export function useChanges(sessionId: string, scope: Scope = "session") {
  const exists = useSession(sessionId) !== undefined;
  const found = useQuery({
    queryKey: changesKey(sessionId, scope),
    queryFn: () => {
      const params = { path: { id: sessionId }, query: { hunks: false, scope } };
      return unwrap(api.GET("/sessions/{id}/diff", { params }));
    },
    placeholderData: keepPreviousData,
    enabled: exists,
  });
  // Without a base to compare with, there is nothing to watch.
  useWatch(found.isSuccess ? sessionId : "");
  return found;
}

/** The hunks of one file. `shape` is the file's state in the list: a new one loads again. */
export function useHunks(sessionId: string, path: string, shape: string, enabled = true) {
  return useQuery({
    queryKey: ["diff", sessionId, "file", path, shape],
    queryFn: () => hunksOf(sessionId, path),
    placeholderData: keepPreviousData,
    enabled,
  });
}

export async function hunksOf(sessionId: string, path: string): Promise<WorkingChanges> {
  const params = { path: { id: sessionId }, query: { path, hunks: true } };
  return unwrap(api.GET("/sessions/{id}/diff", { params }));
}

function useWatch(sessionId: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!sessionId) return;
    let timer = 0;
    let since = 0;
    let left = false;
    const again = () => {
      window.clearTimeout(timer);
      since ||= performance.now();
      const wait = Math.max(0, Math.min(CALM, since + AT_LEAST - performance.now()));
      timer = window.setTimeout(() => {
        since = 0;
        void queries.invalidateQueries({ queryKey: ["diff", sessionId] });
        void queries.invalidateQueries({ queryKey: ["worktree", sessionId] });
      }, wait);
    };
    // Changes before the watcher or the subscription started are not reported: load again.
    const watch = () => void startWatcher(sessionId).then(() => !left && again());
    const leave = onFrame((frame) => {
      if (!("topic" in frame) || frame.topic !== `session:${sessionId}`) return;
      if (frame.type === "diff.changed") again();
      if (frame.type === "stream.synchronized") watch();
    });
    watch();
    return () => {
      left = true;
      window.clearTimeout(timer);
      leave();
    };
  }, [sessionId, queries]);
}

/** Without a watcher the list is only updated by Refresh. */
async function startWatcher(id: string): Promise<void> {
  await api.POST("/sessions/{id}/watch", { params: { path: { id } } }).catch(() => undefined);
}
