/** Traces a task list through log, page and database, for debugging. */
import type { TaskRow } from "@/api/types";
import { plural } from "@/format/values";
import type { Entry } from "@/stream/frames";

/** The log has milliseconds, the table a higher precision. */
const SAME_MS = 1;

type Position = "same" | "earlier" | "later";

/** Whether a time belongs to this entry's list, an earlier or a later one. */
function compareTo(entry: Entry, at: number): Position {
  if (Math.abs(at - entry.at) <= SAME_MS) return "same";
  return at < entry.at ? "earlier" : "later";
}

/** `shownAt`: the time of the list in the Tasks panel, 0 if there is none. */
export function pageState(entry: Entry, shownAt: number): string {
  return { same: "shown", earlier: "not shown yet", later: "replaced by a later list" }[
    compareTo(entry, shownAt)
  ];
}

export interface TableState {
  text: string;
  /** It may still be written: check again. */
  behind: boolean;
}

const REPLACED: TableState = { text: "replaced by a later list", behind: false };

/** An empty list leaves no rows with a time: then `shownAt` shows that there is a later list. */
export function tableState(entry: Entry, rows: readonly TaskRow[], shownAt = 0): TableState {
  const own = rows.filter((row) => row.source === "sdk");
  const [first] = own;
  if (!first && compareTo(entry, shownAt) === "later") return REPLACED;
  if (!first) return { text: "no rows", behind: sizeOf(entry) > 0 };
  switch (compareTo(entry, first.updated_at * 1000)) {
    case "same":
      return { text: `written, ${plural(own.length, "row")}`, behind: false };
    case "later":
      return REPLACED;
    case "earlier":
      return { text: "not written yet", behind: true };
  }
}

function sizeOf(entry: Entry): number {
  return entry.event.type === "tasks_replaced" ? entry.event.tasks.length : 0;
}
