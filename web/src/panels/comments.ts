/** Comments on diff lines, collected per session until they are sent; kept over a reload. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export interface LineComment {
  id: string;
  path: string;
  side: "old" | "new";
  line: number;
  /** The text of the line at the time of the comment. */
  text: string;
  words: string;
}

interface Comments {
  of: Record<string, LineComment[]>;
  add(sessionId: string, comment: Omit<LineComment, "id">): void;
  change(sessionId: string, id: string, words: string): void;
  remove(sessionId: string, id: string): void;
  put(sessionId: string, comments: LineComment[]): void;
}

export const useComments = create<Comments>()(
  persist(
    (set) => {
      const edit = (id: string, make: (comments: LineComment[]) => LineComment[]) =>
        set((state) => {
          const next = make(state.of[id] ?? []);
          const { [id]: _, ...rest } = state.of;
          return { of: next.length > 0 ? { ...rest, [id]: next } : rest };
        });
      return {
        of: {},
        add: (sessionId, comment) =>
          edit(sessionId, (comments) => [...comments, { ...comment, id: crypto.randomUUID() }]),
        change: (sessionId, id, words) =>
          edit(sessionId, (comments) => comments.map((each) => (each.id === id ? { ...each, words } : each))),
        remove: (sessionId, id) => edit(sessionId, (comments) => comments.filter((each) => each.id !== id)),
        put: (sessionId, comments) => edit(sessionId, () => comments),
      };
    },
    { name: "bobstay.comments" },
  ),
);

const NONE: LineComment[] = [];

export function useCommentsOf(sessionId: string): LineComment[] {
  return useComments((state) => state.of[sessionId] ?? NONE);
}

/** All comments as one message: location, line, comment. */
export function messageOf(comments: readonly LineComment[]): string {
  const first = comments.length === 1 ? "A comment on the changes:" : "Comments on the changes:";
  const parts = inFileOrder(comments).map((each) => {
    const where = `${each.path}:${each.line}${each.side === "old" ? " (a line that was removed)" : ""}`;
    return `${where}\n> ${each.text.trim() || "(an empty line)"}\n${each.words.trim()}`;
  });
  return [first, ...parts].join("\n\n");
}

/** By file and line; removed lines before added ones. */
export function inFileOrder(comments: readonly LineComment[]): LineComment[] {
  const order = (a: LineComment, b: LineComment) =>
    a.line - b.line || (a.side === b.side ? 0 : a.side === "old" ? -1 : 1);
  return [...comments].sort((a, b) => (a.path === b.path ? order(a, b) : a.path < b.path ? -1 : 1));
}
