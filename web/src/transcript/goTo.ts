/** Scrolls to a row: loads older entries until it is there and expands its groups. */
import { flushSync } from "react-dom";
import { errorMessage } from "@/api/client";
import type { Row } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { useFolds } from "@/state/ui";
import { toast } from "@/ui/toast";
import { highlightRow, makeCurrent } from "./currentRow";
import type { Virtualizer } from "./scroll/virtualizer";

/** Entries per page while searching backwards. */
const STRIDE = 2000;
/** Pixels below the top edge, so that some context is visible. */
const BELOW_EDGE = 96;

export interface Wanted {
  /** Id of the row, call, entry or message. */
  id: string;
  /** Its position in the log, if known: nothing before it is loaded. */
  seq?: number;
  /** Expand the row, too: the match is inside. */
  open?: boolean;
}

export async function goTo(
  transcript: Transcript,
  virtualizer: Virtualizer,
  wanted: Wanted,
): Promise<boolean> {
  try {
    const row = await find(transcript, wanted);
    if (!row) {
      toast.error("The linked row is not in this session.");
      return false;
    }
    show(transcript, virtualizer, row, wanted.open === true);
    return true;
  } catch (error) {
    toast.error(`Earlier messages could not be loaded. ${errorMessage(error)}`);
    return false;
  }
}

async function find(transcript: Transcript, wanted: Wanted): Promise<Row | undefined> {
  for (;;) {
    const row = rowOf(transcript, wanted);
    if (row) return row;
    const first = transcript.entries[0]?.seq ?? 0;
    if (!transcript.hasOlder || (wanted.seq && first <= wanted.seq)) return undefined;
    await transcript.loadOlder(STRIDE);
  }
}

export function rowOf(transcript: Transcript, { id, seq }: Wanted): Row | undefined {
  const known = transcript.row(id);
  if (known) return known;
  for (const row of transcript.fold.rows.values())
    if (row.entry === id || row.id.startsWith(`${id}/`) || (seq && row.seq === seq)) return row;
  return undefined;
}

function show(transcript: Transcript, virtualizer: Virtualizer, row: Row, open: boolean): void {
  const folds = useFolds.getState();
  let top = row;
  flushSync(() => {
    if (open) folds.toggle(row.id, true);
    for (let depth = 0; top.parentCall && depth < 8; depth += 1) {
      folds.toggle(`agent-${top.parentCall}`, true);
      folds.toggle(`all-${top.parentCall}`, true);
      top = transcript.row(top.parentCall) ?? { ...top, parentCall: "" };
    }
    const line = virtualizer.lines[virtualizer.indexOf(top.id)];
    if (line && line.id !== top.id) folds.toggle(`run-${line.id}`, true);
    virtualizer.scrollToLine(line?.id ?? top.id, BELOW_EDGE);
    makeCurrent(row.id);
    highlightRow(row.id);
  });
  const element = elementOf(virtualizer, row.id);
  if (element && row.id !== top.id) virtualizer.scrollToElement(element, BELOW_EDGE);
}

export function elementOf(virtualizer: Virtualizer, row: string): HTMLElement | null {
  return virtualizer.root?.querySelector<HTMLElement>(`[data-row="${CSS.escape(row)}"]`) ?? null;
}
