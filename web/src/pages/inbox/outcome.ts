/** How a request ended, in few words: it stays in the list for a while, so that nothing vanishes unexplained. */
import type { Settled } from "@/state/app";

const WORDS: Record<string, string> = { allowed: "Allowed", denied: "Denied", cancelled: "No longer asked" };

export function outcomeWords({ outcome, by }: Settled, me: string): string {
  const word = WORDS[outcome] ?? outcome;
  return by ? `${word} by ${by === me ? "you" : by}` : word;
}
