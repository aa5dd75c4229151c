/** Reads pasted or dropped images for sending. */
import type { ImagePart } from "@/api/types";
import { bytes } from "@/format/values";
import type { DraftImage } from "@/state/drafts";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
type Kind = (typeof KINDS)[number];

function isKind(type: string): type is Kind {
  return (KINDS as readonly string[]).includes(type);
}

export interface ReadResult {
  images: DraftImage[];
  /** Messages for files that were not accepted. */
  refused: string[];
}

/** The images of a message may have `most` bytes together; `used` is the size of those already attached. */
export async function readImages(files: readonly File[], used: number, most: number): Promise<ReadResult> {
  const found: ReadResult = { images: [], refused: [] };
  let size = used;
  for (const file of files) {
    const name = file.name || "Image";
    if (!isKind(file.type)) {
      found.refused.push(
        `“${name}” is not a PNG, JPEG, GIF or WebP image. Mention files of the session with @.`,
      );
      continue;
    }
    if (size + file.size > most) {
      found.refused.push(`“${name}” is too large: the images of a message may have ${bytes(most)} together.`);
      continue;
    }
    size += file.size;
    const part: ImagePart = { media_type: file.type, data: await base64(file) };
    found.images.push({ id: crypto.randomUUID(), name, size: file.size, part });
  }
  return found;
}

export function totalSize(images: readonly DraftImage[]): number {
  return images.reduce((sum, each) => sum + each.size, 0);
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error(`“${file.name}” cannot be read.`));
    reader.readAsDataURL(file);
  });
}
