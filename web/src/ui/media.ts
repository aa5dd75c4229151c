/** Whether the page is narrow, and when that changes. Crossing the line mounts nothing anew (FM-25). */
import { useSyncExternalStore } from "react";

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}

export function useNarrow(): boolean {
  return useMedia("(max-width: 767px)");
}

/** Too small for three columns, large enough for two. */
export function useMiddling(): boolean {
  return useMedia("(max-width: 1099px)");
}

/** Touched with fingers, not pointed at. */
export function useCoarse(): boolean {
  return useMedia("(pointer: coarse)");
}
