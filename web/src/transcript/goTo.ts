/** Brings a row to where it is read: opens what it lies in, and loads what came before until it is there. */
import { flushSync } from "react-dom";
import { wordsOf } from "@/api/client";
import type { Row } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { useFolds } from "@/state/ui";
import { toast } from "@/ui/toast";
import { makeCurrent, mark } from "./current";
import type { Reading } from "./scroll/reading";

/** Entries at a time on the way back. */
const STRIDE = 2000;
/** Pixels below the upper edge: some of what is before it is seen too. */
const BELOW_EDGE = 96;

export interface Wanted {
  /** Of the row, the call, the entry or the message. */
  id: string;
  /** Where it stands in the log, if that is known: nothing is loaded beyond it. */
  seq?: number;
  /** Open the row itself too: what is looked for is inside. */
  open?: boolean;
}

export async function goTo(transcript: Transcript, reading: Reading, wanted: Wanted): Promise<boolean> {
  try {
    const row = await find(transcript, wanted);
    if (!row) {
      toast.error("That place is not in this session.");
      return false;
    }
    show(transcript, reading, row, wanted.open === true);
    return true;
  } catch (error) {
    toast.error(`What came before could not be loaded. ${wordsOf(error)}`);
    return false;
  }
}

async function find(transcript: Transcript, wanted: Wanted): Promise<Row | undefined> {
  for (;;) {
    const row = rowOf(transcript, wanted);
    if (row) return row;
    const first = transcript.entries[0]?.seq ?? 0;
    if (!transcript.hasOlder || (wanted.seq && first <= wanted.seq)) return undefined;
    await transcript.older(STRIDE);
  }
}

export function rowOf(transcript: Transcript, { id, seq }: Wanted): Row | undefined {
  const known = transcript.row(id);
  if (known) return known;
  for (const row of transcript.fold.rows.values())
    if (row.entry === id || row.id.startsWith(`${id}/`) || (seq && row.seq === seq)) return row;
  return undefined;
}

function show(transcript: Transcript, reading: Reading, row: Row, open: boolean): void {
  const folds = useFolds.getState();
  let top = row;
  flushSync(() => {
    if (open) folds.toggle(row.id, true);
    for (let depth = 0; top.parentCall && depth < 8; depth += 1) {
      folds.toggle(`agent-${top.parentCall}`, true);
      folds.toggle(`all-${top.parentCall}`, true);
      top = transcript.row(top.parentCall) ?? { ...top, parentCall: "" };
    }
    const line = reading.lines[reading.indexOf(top.id)];
    if (line && line.id !== top.id) folds.toggle(`run-${line.id}`, true);
    reading.aim(line?.id ?? top.id, BELOW_EDGE);
    makeCurrent(row.id);
    mark(row.id);
  });
  const element = elementOf(reading, row.id);
  if (element && row.id !== top.id) reading.bring(element, BELOW_EDGE);
}

export function elementOf(reading: Reading, row: string): HTMLElement | null {
  return reading.root?.querySelector<HTMLElement>(`[data-row="${CSS.escape(row)}"]`) ?? null;
}
