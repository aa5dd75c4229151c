/** A page that could not be loaded or drawn: says so in its place, and what to do. */
import { useEffect, useRef } from "react";
import { wordsOf } from "@/api/client";
import { useApp } from "@/state/app";
import { MISSING_PART } from "@/ui/Boundary";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";

export function BrokenPage({ error }: { error: unknown }) {
  const words = wordsOf(error);
  useReloadOnceBack(words === MISSING_PART);
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
      {words.slice(0, 1).toUpperCase() + words.slice(1)}
    </Empty>
  );
}

/**
 * A part that was asked for while the server was away is there again with it: nobody has to press a button for that.
 * One that is missing when the page has just been loaded would be missing the next time, too.
 */
function useReloadOnceBack(missing: boolean): void {
  const live = useApp((state) => state.connection === "live");
  const away = useRef(false);
  useEffect(() => {
    if (missing && live && away.current) location.reload();
    away.current = !live && useApp.getState().wasLive;
  }, [missing, live]);
}
