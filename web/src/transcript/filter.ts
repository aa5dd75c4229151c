/** Which lines are shown: all of them, or without tools or thinking (S003-44). */
import type { Fold } from "@/state/fold";
import type { Item } from "@/state/rows";

export interface Hidden {
  hideTools: boolean;
  hideThinking: boolean;
}

/** A new array each time, but for what it holds: lines that stayed are the same objects. */
export function shownItems(fold: Fold, { hideTools, hideThinking }: Hidden): Item[] {
  if (!hideTools && !hideThinking) return fold.items;
  return fold.items.filter((item) => {
    const row = fold.rows.get(item.id);
    if (row?.kind === "thinking") return !hideThinking;
    if (row?.kind !== "tool" || !hideTools) return true;
    // What failed or waits for somebody is not hidden by a wish for quiet.
    return item.rows.some((id) => {
      const tool = fold.tool(id);
      return tool?.status === "error" || tool?.interaction?.outcome === "";
    });
  });
}
