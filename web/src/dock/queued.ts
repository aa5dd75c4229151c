/** Words that wait in a session's queue: the list has only how they begin, the log has them whole. */
import type { ImagePart, QueuedView } from "@/api/types";
import { complain, dropInput, editInput, send } from "@/state/actions";
import { readable } from "@/state/entries";
import { pageBefore, type Transcript } from "@/state/transcript";
import type { Entry } from "@/stream/frames";

export interface Whole {
  text: string;
  pictures: ImagePart[];
}

/** Entries that are looked through at once for one that is not held here. */
const PAGE = 1000;

/**
 * The newest of that id counts: an edit is written like a new one. What came cut short, or is not held here, is asked
 * for: words that are sent again, or edited, must be all of them.
 */
export async function wholeOf(id: string, entries: readonly Entry[], queued: QueuedView): Promise<Whole> {
  let found = newest(entries, queued);
  let first = entries[0]?.seq ?? Number.MAX_SAFE_INTEGER;
  while (!found && first > 1) {
    const page = await pageBefore(id, first, PAGE);
    found = newest(page, queued);
    first = page[0]?.seq ?? 0;
  }
  if (found?.cuts) found = newest(await pageBefore(id, found.seq + 1, 1, 0), queued);
  if (found?.event.type !== "input_queued") throw new Error(NOT_FOUND);
  const { text, pictures } = readable(found.event.blocks);
  return {
    text,
    pictures: pictures.map((each) => ({
      media_type: each.mediaType as ImagePart["media_type"],
      data: each.data,
    })),
  };
}

const NOT_FOUND = "The words of this message cannot be found. It stays in the queue as it is.";

function newest(entries: readonly Entry[], queued: QueuedView): Entry | undefined {
  return entries.findLast(({ event }) => event.type === "input_queued" && event.id === queued.id);
}

/** Take it out of the queue and give it to the agent now. Whatever fails, the words are not lost: `back` gets them. */
export async function steerNow(
  id: string,
  transcript: Transcript,
  queued: QueuedView,
  back: (text: string) => void,
): Promise<void> {
  const whole = await wholeOf(id, transcript.entries, queued).catch(complain);
  if (!whole || !(await dropInput(id, queued.id))) return;
  const { text, pictures } = whole;
  if (!(await send(id, text, pictures, "steer"))) back(text);
}

export async function change(
  id: string,
  transcript: Transcript,
  queued: QueuedView,
  text: string,
): Promise<boolean> {
  const whole = await wholeOf(id, transcript.entries, queued).catch(complain);
  if (!whole) return false;
  const { pictures } = whole;
  if (pictures.length === 0) return Boolean(await editInput(id, queued.id, text));
  // An edit would leave the pictures out: the message is said anew with them.
  return Boolean(await dropInput(id, queued.id)) && send(id, text, pictures, queued.how);
}
