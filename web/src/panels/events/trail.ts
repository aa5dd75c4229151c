/** Where a list of tasks has got to, for who looks why it is not where it should be: log, page, the server's table. */
import type { TaskRow } from "@/api/types";
import type { Entry } from "@/stream/frames";
import { plural } from "@/words/format";

/** Times of the log come with milliseconds, those of the table with more. */
const SAME_MS = 1;

type Standing = "same" | "earlier" | "later";

/** Which list a moment stands for, seen from an entry's: this one, one before it, or one after it. */
function against(entry: Entry, at: number): Standing {
  if (Math.abs(at - entry.at) <= SAME_MS) return "same";
  return at < entry.at ? "earlier" : "later";
}

/** `shownAt`: the moment of the list that is in the Tasks panel, 0 if there is none. */
export function onPage(entry: Entry, shownAt: number): string {
  return { same: "shown", earlier: "not shown yet", later: "replaced by a later list" }[
    against(entry, shownAt)
  ];
}

export interface Table {
  words: string;
  /** It may still come: look again. */
  behind: boolean;
}

const REPLACED: Table = { words: "replaced by a later list", behind: false };

/** A list without tasks leaves no row that tells when it was written: then `shownAt` tells that there was a later one. */
export function inTable(entry: Entry, rows: readonly TaskRow[], shownAt = 0): Table {
  const own = rows.filter((row) => row.source === "sdk");
  const [first] = own;
  if (!first && against(entry, shownAt) === "later") return REPLACED;
  if (!first) return { words: "no rows", behind: sizeOf(entry) > 0 };
  switch (against(entry, first.updated_at * 1000)) {
    case "same":
      return { words: `written, ${plural(own.length, "row")}`, behind: false };
    case "later":
      return REPLACED;
    case "earlier":
      return { words: "not written yet", behind: true };
  }
}

function sizeOf(entry: Entry): number {
  return entry.event.type === "tasks_replaced" ? entry.event.tasks.length : 0;
}
