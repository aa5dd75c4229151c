/** The selected completion and its keys. */
import { type KeyboardEvent, useEffect, useState } from "react";
import { useCandidates } from "./Completions";
import type { Trigger } from "./completion";

/** Up, Down, Enter, Tab and Escape act on the list while it is open. */
export function useCompletionKeys(
  id: string,
  trigger: Trigger | null,
  choose: (value: string) => void,
  close: () => void,
) {
  const candidates = useCandidates(id, trigger);
  const [position, setPosition] = useState(0);
  const asked = trigger ? `${trigger.kind}/${trigger.query}` : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new query starts at its first candidate
  useEffect(() => setPosition(0), [asked]);
  const chosen = Math.min(position, Math.max(0, candidates.length - 1));
  const keyDown = (event: KeyboardEvent): boolean => {
    if (!trigger || candidates.length === 0) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const picks =
      (event.key === "Enter" && !event.shiftKey && !event.metaKey && !event.ctrlKey) || event.key === "Tab";
    if (step) setPosition((chosen + step + candidates.length) % candidates.length);
    else if (picks) choose(candidates[chosen]?.value ?? "");
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { candidates: trigger ? candidates : [], chosen, keyDown };
}
