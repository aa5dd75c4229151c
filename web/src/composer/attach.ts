/** Attaches dropped or pasted images to the draft and reports files that cannot be attached. */
import { useApp } from "@/state/app";
import { draftOf, updateDraft } from "@/state/drafts";
import { toast } from "@/ui/toast";
import { readImages, totalSize } from "./images";

const MAX_BYTES = 16 * 1024 * 1024;

export async function attach(id: string, files: File[]): Promise<void> {
  const most = useApp.getState().config?.limits.image_bytes ?? MAX_BYTES;
  const read = await readImages(files, totalSize(draftOf(id).images), most);
  for (const message of read.refused) toast.error(message);
  if (read.images.length > 0) updateDraft(id, { images: [...draftOf(id).images, ...read.images] });
}
