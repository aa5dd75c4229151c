/** Which hunks somebody has looked at, by their digest: one that changes is to be looked at again. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

/** Of one browser; the oldest are forgotten. */
const MOST = 5000;

interface Reviewed {
  hunks: Record<string, true>;
  mark(digests: readonly string[], seen: boolean): void;
}

export const useReviewed = create<Reviewed>()(
  persist(
    (set) => ({
      hunks: {},
      mark: (digests, seen) =>
        set((state) => {
          const kept = new Map(Object.entries(state.hunks));
          for (const digest of digests) {
            kept.delete(digest);
            if (seen) kept.set(digest, true);
          }
          return { hunks: Object.fromEntries([...kept].slice(-MOST)) };
        }),
    }),
    { name: "bobstay.reviewed" },
  ),
);

/** The mark of a whole file, as it is now: one that changes is to be looked at again. */
export function fileDigest(sessionId: string, file: { path: string; version?: string }): string {
  return digestOf(sessionId, file.path, `file:${file.version ?? ""}`);
}

/** A file without hunks is looked at as a whole. */
export function digestOf(sessionId: string, path: string, what: string): string {
  return `${sessionId.slice(0, 8)}/${path}/${what}`;
}
