/** What a session changed: asked for once, and again shortly after the server says that something moved. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, said } from "@/api/client";
import type { Changes } from "@/api/types";
import { useSession } from "@/state/app";
import { onFrame } from "@/stream/live";

/** Milliseconds in which further changes are waited for: an agent writes many files at once. */
const CALM = 400;
/** However busy it is, so often one sees how it stands. */
const AT_LEAST = 2_000;

export type Scope = "session" | "turn" | "all";

export function changesKey(sessionId: string, scope: Scope) {
  return ["diff", sessionId, "list", scope];
}

/** An empty id asks for nothing, nor does a session that was deleted. */
export function useChanges(sessionId: string, scope: Scope = "session") {
  const exists = useSession(sessionId) !== undefined;
  const found = useQuery({
    queryKey: changesKey(sessionId, scope),
    queryFn: () => {
      const params = { path: { id: sessionId }, query: { hunks: false, scope } };
      return said(api.GET("/sessions/{id}/diff", { params }));
    },
    placeholderData: keepPreviousData,
    enabled: exists,
  });
  // Where there is nothing to compare with, there is nothing to watch.
  useWatch(found.isSuccess ? sessionId : "");
  return found;
}

/** The hunks of one file. `shape` is what the list says of it: another one means to ask again. */
export function useHunks(sessionId: string, path: string, shape: string, enabled = true) {
  return useQuery({
    queryKey: ["diff", sessionId, "file", path, shape],
    queryFn: () => hunksOf(sessionId, path),
    placeholderData: keepPreviousData,
    enabled,
  });
}

export async function hunksOf(sessionId: string, path: string): Promise<Changes> {
  const params = { path: { id: sessionId }, query: { path, hunks: true } };
  return said(api.GET("/sessions/{id}/diff", { params }));
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
    // Of what changed before it was watched, or before the session was followed, nobody tells: one looks again.
    const watch = () => void watched(sessionId).then(() => !left && again());
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

/** Without a watcher the list is as it was when it was opened; the button asks again. */
async function watched(id: string): Promise<void> {
  await api.POST("/sessions/{id}/watch", { params: { path: { id } } }).catch(() => undefined);
}
