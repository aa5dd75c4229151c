/** A link into a session leads to its row or call: once, when the session is there. */
import { useMatch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Transcript } from "@/state/transcript";
import { mark } from "./current";
import { goTo } from "./goTo";
import type { Reading } from "./scroll/reading";

export function useLinked(transcript: Transcript, reading: Reading, ready: boolean): void {
  const match = useMatch({ from: "/session/$id", shouldThrow: false });
  const here = match?.params.id === transcript.id ? match.search : undefined;
  const wanted = here?.call ?? here?.row ?? "";
  const gone = useRef("");
  useEffect(() => {
    if (!ready || !wanted || gone.current === wanted) return;
    gone.current = wanted;
    void goTo(transcript, reading, { id: wanted });
  }, [ready, wanted, transcript, reading]);
  useEffect(() => () => mark(""), []);
}
