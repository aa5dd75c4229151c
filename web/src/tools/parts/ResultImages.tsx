/** Images of a result. Only types that cannot run code are shown; others are named. */
import { keyed } from "@/diff/keyed";
import { plural } from "@/format/values";
import type { RowImage } from "@/state/rows";

const DRAWN = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function ResultImages({ images }: { images: readonly RowImage[] }) {
  if (images.length === 0) return null;
  const drawn = images.filter(isDrawn);
  const others = images.length - drawn.length;
  return (
    <div className="flex min-w-0 flex-wrap gap-2">
      {keyed(drawn).map(({ key, item }, index) => (
        <img
          key={key}
          src={`data:${item.mediaType};base64,${item.data}`}
          alt={drawn.length > 1 ? `Image ${index + 1} of the result` : "Image of the result"}
          className="max-h-96 max-w-full rounded-box border border-line bg-surface-2 object-contain"
        />
      ))}
      {others > 0 && <p className="m-0 text-ink-3">{plural(others, "image")} of an unsupported type.</p>}
    </div>
  );
}

export function isDrawn(image: RowImage): boolean {
  return DRAWN.has(image.mediaType) && typeof image.data === "string" && BASE64.test(image.data);
}
