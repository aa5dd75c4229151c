/** Media queries as hooks. Crossing a breakpoint does not remount anything. */
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

/** Too narrow for three columns, wide enough for two. */
export function useMedium(): boolean {
  return useMedia("(max-width: 1099px)");
}

/** The primary input is touch. */
export function useCoarse(): boolean {
  return useMedia("(pointer: coarse)");
}
