/** Words that wait in a session's queue: the list has only how they begin, the log has them whole. */
import type { ImagePart, QueuedView } from "@/api/types";
import { dropInput, editInput, send } from "@/state/actions";
import type { Transcript } from "@/state/transcript";
import type { Entry } from "@/stream/frames";

export interface Whole {
  text: string;
  pictures: ImagePart[];
}

/** The newest of that id counts: an edit is written like a new one. */
export function wholeOf(entries: readonly Entry[], queued: QueuedView): Whole {
  for (let place = entries.length - 1; place >= 0; place -= 1) {
    const event = entries[place]?.event;
    if (event?.type !== "input_queued" || event.id !== queued.id) continue;
    const text: string[] = [];
    const pictures: ImagePart[] = [];
    for (const block of event.blocks) {
      if (block.type === "text") text.push(block.text);
      else if (block.type === "image")
        pictures.push({ media_type: block.media_type as ImagePart["media_type"], data: block.data });
    }
    return { text: text.join("\n\n"), pictures };
  }
  return { text: queued.text, pictures: [] };
}

/** Take it out of the queue and give it to the agent now. Whatever fails, the words are not lost: `back` gets them. */
export async function steerNow(
  id: string,
  transcript: Transcript,
  queued: QueuedView,
  back: (text: string) => void,
): Promise<void> {
  const { text, pictures } = wholeOf(transcript.entries, queued);
  if (!(await dropInput(id, queued.id))) return;
  if (!(await send(id, text, pictures, "steer"))) back(text);
}

export async function change(
  id: string,
  transcript: Transcript,
  queued: QueuedView,
  text: string,
): Promise<boolean> {
  const { pictures } = wholeOf(transcript.entries, queued);
  if (pictures.length === 0) return Boolean(await editInput(id, queued.id, text));
  // An edit would leave the pictures out: the message is said anew with them.
  return Boolean(await dropInput(id, queued.id)) && send(id, text, pictures, queued.how);
}
