/** Pictures that are pasted or dropped, read for sending. */
import type { ImagePart } from "@/api/types";
import { bytes } from "@/words/format";
import type { Picture } from "./drafts";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
type Kind = (typeof KINDS)[number];

function isKind(type: string): type is Kind {
  return (KINDS as readonly string[]).includes(type);
}

export interface Read {
  pictures: Picture[];
  /** Why some were not taken, in words. */
  refused: string[];
}

/** The pictures of a message may have `most` bytes together; `used` are those of the ones that are there. */
export async function readPictures(files: readonly File[], used: number, most: number): Promise<Read> {
  const found: Read = { pictures: [], refused: [] };
  let size = used;
  for (const file of files) {
    const name = file.name || "Picture";
    if (!isKind(file.type)) {
      found.refused.push(
        `“${name}” is no PNG, JPEG, GIF or WebP picture. Mention files of the session by @.`,
      );
      continue;
    }
    if (size + file.size > most) {
      found.refused.push(`“${name}” is too large: pictures of a message may have ${bytes(most)} together.`);
      continue;
    }
    size += file.size;
    const part: ImagePart = { media_type: file.type, data: await base64(file) };
    found.pictures.push({ id: crypto.randomUUID(), name, size: file.size, part });
  }
  return found;
}

export function weightOf(pictures: readonly Picture[]): number {
  return pictures.reduce((sum, each) => sum + each.size, 0);
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error(`“${file.name}” cannot be read.`));
    reader.readAsDataURL(file);
  });
}
