/** Scrolls to the row or call that the link names, once the session is loaded. */
import { useMatch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Transcript } from "@/state/transcript";
import { highlightRow } from "./currentRow";
import { goTo } from "./goTo";
import type { Virtualizer } from "./scroll/virtualizer";

export function useLinkTarget(transcript: Transcript, virtualizer: Virtualizer, ready: boolean): void {
  const match = useMatch({ from: "/session/$id", shouldThrow: false });
  const here = match?.params.id === transcript.id ? match.search : undefined;
  const wanted = here?.call ?? here?.row ?? "";
  const handled = useRef("");
  useEffect(() => {
    if (!ready || !wanted || handled.current === wanted) return;
    handled.current = wanted;
    void goTo(transcript, virtualizer, { id: wanted });
  }, [ready, wanted, transcript, virtualizer]);
  useEffect(() => () => highlightRow(""), []);
}
