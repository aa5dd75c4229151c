/** How a request ended, in words. */
import type { Settled } from "@/state/app";

const WORDS: Record<string, string> = { allowed: "Allowed", denied: "Denied", cancelled: "Taken back" };

export function outcomeWords({ outcome, by }: Settled): string {
  const word = WORDS[outcome] ?? outcome.replaceAll("_", " ");
  return by ? `${word} by ${by}` : word;
}
