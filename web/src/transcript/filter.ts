/** Filters tool calls and thinking from the transcript. */
import type { Fold } from "@/state/fold";
import type { Item } from "@/state/rows";

export interface RowFilter {
  hideTools: boolean;
  hideThinking: boolean;
}

/** Returns a new array of the same line objects. */
export function shownItems(fold: Fold, { hideTools, hideThinking }: RowFilter): Item[] {
  if (!hideTools && !hideThinking) return fold.items;
  return fold.items.filter((item) => {
    const row = fold.rows.get(item.id);
    if (row?.kind === "thinking") return !hideThinking;
    if (row?.kind !== "tool" || !hideTools) return true;
    // Failed calls and pending requests are never hidden.
    return item.rows.some((id) => {
      const tool = fold.tool(id);
      return tool?.status === "error" || tool?.interaction?.outcome === "";
    });
  });
}
