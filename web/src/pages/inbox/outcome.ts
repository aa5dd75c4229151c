/** Short outcome of a resolved request in the inbox. */
import type { Settled } from "@/state/app";

const OUTCOMES: Record<string, string> = {
  allowed: "Allowed",
  denied: "Denied",
  cancelled: "Withdrawn",
};

export function outcomeText({ outcome, by }: Settled, me: string): string {
  const word = OUTCOMES[outcome] ?? outcome;
  return by ? `${word} by ${by === me ? "you" : by}` : word;
}
