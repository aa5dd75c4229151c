/** Gives an answer once, and says what came of it. */
import { useEffect, useState } from "react";
import type { InteractionView, Verdict } from "@/api/types";
import { type Answered, decide } from "@/state/actions";
import { mine } from "./settled";

export interface Said {
  decision: Verdict["decision"];
  scope?: Verdict["scope"];
  reason?: string;
  input?: Record<string, unknown>;
  answers?: Record<string, unknown>;
  mode?: Verdict["mode"];
  interrupt?: boolean;
}

export interface Answering {
  /** On its way, or hardly there: nothing can be pressed. */
  busy: boolean;
  /** Why it did not count, where it did not. */
  problem: string;
  answer: (said: Said) => Promise<boolean>;
}

export function useAnswer(interaction: InteractionView, onDone?: () => void): Answering {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const arrived = useArrived();
  const answer: Answering["answer"] = async (said) => {
    if (busy) return false;
    setBusy(true);
    setProblem("");
    mine.add(interaction.id); // it may be heard of before the answer to this comes
    const { input_sha256 } = interaction;
    const told: Answered = await decide(interaction.id, { ...said, input_sha256 } as Verdict);
    if (told.result !== "done") setBusy(false); // it goes as soon as the answer is heard of
    if (told.result !== "done") mine.delete(interaction.id);
    if (told.result === "done") onDone?.();
    else setProblem(told.words);
    return told.result === "done";
  };
  return { busy: busy || !arrived, problem, answer };
}

/** A key that is still down, or a second click meant for the one before, must not decide this one too. */
const PAUSE_MS = 350;

/** False for the first moment something is there. */
function useArrived(): boolean {
  const [arrived, setArrived] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setArrived(true), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return arrived;
}
