/** Answers a request once and reports the result. */
import { useEffect, useState } from "react";
import type { DecisionBody, InteractionView } from "@/api/types";
import { type DecisionResult, decide } from "@/state/actions";
import { answeredHere } from "./resolution";

export interface Answer {
  decision: DecisionBody["decision"];
  scope?: DecisionBody["scope"];
  reason?: string;
  input?: Record<string, unknown>;
  answers?: Record<string, unknown>;
  mode?: DecisionBody["mode"];
  interrupt?: boolean;
}

export interface AnswerState {
  /** Being sent, or shown only a moment ago: buttons are disabled. */
  busy: boolean;
  /** Why the answer was not accepted. */
  problem: string;
  answer: (given: Answer) => Promise<boolean>;
}

export function useAnswer(interaction: InteractionView, onDone?: () => void): AnswerState {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const arrived = useReady();
  const answer: AnswerState["answer"] = async (given) => {
    if (busy) return false;
    setBusy(true);
    setProblem("");
    answeredHere.add(interaction.id); // the stream may report it before this request returns
    const { input_sha256 } = interaction;
    const result: DecisionResult = await decide(interaction.id, { ...given, input_sha256 } as DecisionBody);
    if (result.result !== "done") setBusy(false); // the card goes when the stream reports the answer
    if (result.result !== "done") answeredHere.delete(interaction.id);
    if (result.result === "done") onDone?.();
    else setProblem(result.message);
    return result.result === "done";
  };
  return { busy: busy || !arrived, problem, answer };
}

/** A key that is still held, or a second click, must not answer the next request. */
const PAUSE_MS = 350;

/** False right after mounting. */
function useReady(): boolean {
  const [arrived, setArrived] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setArrived(true), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return arrived;
}
