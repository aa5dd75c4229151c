/** Error page: a page that could not be loaded or rendered. */
import { useEffect, useRef } from "react";
import { errorMessage } from "@/api/client";
import { useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { MISSING_PART } from "@/ui/ErrorBoundary";

export function ErrorPage({ error }: { error: unknown }) {
  const message = errorMessage(error);
  useReloadOnceBack(message === MISSING_PART);
  return (
    <Empty
      page
      title="This page cannot be shown"
      action={
        <Button look="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      }
    >
      {message.slice(0, 1).toUpperCase() + message.slice(1)}
    </Empty>
  );
}

/**
 * Reloads when the server is reachable again, if a chunk could not be loaded while it was away.
 * A chunk that is missing on a fresh page would be missing after a reload as well.
 */
function useReloadOnceBack(missing: boolean): void {
  const live = useApp((state) => state.connection === "live");
  const away = useRef(false);
  useEffect(() => {
    if (missing && live && away.current) location.reload();
    away.current = !live && useApp.getState().wasLive;
  }, [missing, live]);
}
