/** Which candidate is chosen, and the keys that choose. */
import { type KeyboardEvent, useEffect, useState } from "react";
import { useCandidates } from "./Completions";
import type { Trigger } from "./completion";

/** Up, Down, Enter, Tab and Escape belong to the list while it is there. */
export function useCompletionKeys(
  id: string,
  trigger: Trigger | null,
  choose: (value: string) => void,
  close: () => void,
) {
  const candidates = useCandidates(id, trigger);
  const [place, setPlace] = useState(0);
  const asked = trigger ? `${trigger.kind}/${trigger.query}` : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question begins at its first answer
  useEffect(() => setPlace(0), [asked]);
  const chosen = Math.min(place, Math.max(0, candidates.length - 1));
  const keyDown = (event: KeyboardEvent): boolean => {
    if (!trigger || candidates.length === 0) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const picks =
      (event.key === "Enter" && !event.shiftKey && !event.metaKey && !event.ctrlKey) || event.key === "Tab";
    if (step) setPlace((chosen + step + candidates.length) % candidates.length);
    else if (picks) choose(candidates[chosen]?.value ?? "");
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { candidates: trigger ? candidates : [], chosen, keyDown };
}
