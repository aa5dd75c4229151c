/** Files that are dropped or pasted become pictures of the draft; those that cannot are told why. */

import { useApp } from "@/state/app";
import { toast } from "@/ui/toast";
import { draftOf, put } from "./drafts";
import { readPictures, weightOf } from "./pictures";

const MOST_BYTES = 16 * 1024 * 1024;

export async function attach(id: string, files: File[]): Promise<void> {
  const most = useApp.getState().config?.limits.image_bytes ?? MOST_BYTES;
  const read = await readPictures(files, weightOf(draftOf(id).pictures), most);
  for (const words of read.refused) toast.error(words);
  if (read.pictures.length > 0) put(id, { pictures: [...draftOf(id).pictures, ...read.pictures] });
}
