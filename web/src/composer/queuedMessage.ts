/** Queued messages: the session has only their beginning, the log has the full text. */
import type { ImagePart, QueuedView } from "@/api/types";
import { dropInput, editInput, send, showError } from "@/state/actions";
import { contentOf } from "@/state/rowBase";
import { pageBefore, type Transcript } from "@/state/transcript";
import type { Entry } from "@/stream/frames";

export interface QueuedContent {
  text: string;
  images: ImagePart[];
}

/** Entries per page when searching the log. */
const PAGE = 1000;

/**
 * The newest entry of that id counts, because an edit is written as a new entry. A text that was cut or is not here is
 * loaded from the server: editing or sending it again needs all of it.
 */
export async function loadQueued(
  id: string,
  entries: readonly Entry[],
  queued: QueuedView,
): Promise<QueuedContent> {
  let found = newest(entries, queued);
  let first = entries[0]?.seq ?? Number.MAX_SAFE_INTEGER;
  while (!found && first > 1) {
    const page = await pageBefore(id, first, PAGE);
    found = newest(page, queued);
    first = page[0]?.seq ?? 0;
  }
  if (found?.cuts) found = newest(await pageBefore(id, found.seq + 1, 1, 0), queued);
  if (found?.event.type !== "input_queued") throw new Error(NOT_FOUND);
  const { text, images } = contentOf(found.event.blocks);
  return {
    text,
    images: images.map((each) => ({
      media_type: each.mediaType as ImagePart["media_type"],
      data: each.data,
    })),
  };
}

const NOT_FOUND = "The text of this message was not found. It stays in the queue unchanged.";

function newest(entries: readonly Entry[], queued: QueuedView): Entry | undefined {
  return entries.findLast(({ event }) => event.type === "input_queued" && event.id === queued.id);
}

/** Removes the message from the queue and steers the agent with it. If sending fails, `back` gets the text. */
export async function steerNow(
  id: string,
  transcript: Transcript,
  queued: QueuedView,
  back: (text: string) => void,
): Promise<void> {
  const content = await loadQueued(id, transcript.entries, queued).catch(showError);
  if (!content || !(await dropInput(id, queued.id))) return;
  const { text, images } = content;
  if (!(await send(id, text, images, "steer"))) back(text);
}

export async function editQueued(
  id: string,
  transcript: Transcript,
  queued: QueuedView,
  text: string,
): Promise<boolean> {
  const content = await loadQueued(id, transcript.entries, queued).catch(showError);
  if (!content) return false;
  const { images } = content;
  if (images.length === 0) return Boolean(await editInput(id, queued.id, text));
  // The edit endpoint takes text only: a message with images is deleted and sent again.
  return Boolean(await dropInput(id, queued.id)) && send(id, text, images, queued.how);
}
