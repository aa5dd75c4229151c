/** Reviewed hunks and files by digest: a changed one counts as unreviewed. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

/** Per browser; the oldest are dropped. */
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

/** Digest of a file's current version. */
export function fileDigest(sessionId: string, file: { path: string; version?: string }): string {
  return digestOf(sessionId, file.path, `file:${file.version ?? ""}`);
}

/** Digest of a hunk, or of a whole file. */
export function digestOf(sessionId: string, path: string, what: string): string {
  return `${sessionId.slice(0, 8)}/${path}/${what}`;
}
