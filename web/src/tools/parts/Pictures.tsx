/** Pictures in a result. Only kinds a browser draws without running anything; others are named (FM-51). */
import { keyed } from "@/diff/keyed";
import type { Picture } from "@/state/rows";
import { plural } from "@/words/format";

const DRAWN = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function Pictures({ pictures }: { pictures: readonly Picture[] }) {
  if (pictures.length === 0) return null;
  const drawn = pictures.filter(isDrawn);
  const others = pictures.length - drawn.length;
  return (
    <div className="flex min-w-0 flex-wrap gap-2">
      {keyed(drawn).map(({ key, item }, index) => (
        <img
          key={key}
          src={`data:${item.mediaType};base64,${item.data}`}
          alt={drawn.length > 1 ? `Picture ${index + 1} of the result` : "Picture of the result"}
          className="max-h-96 max-w-full rounded-box border border-line bg-surface-2 object-contain"
        />
      ))}
      {others > 0 && (
        <p className="m-0 text-ink-3">{plural(others, "picture")} of a kind that is not shown here.</p>
      )}
    </div>
  );
}

export function isDrawn(picture: Picture): boolean {
  return DRAWN.has(picture.mediaType) && typeof picture.data === "string" && BASE64.test(picture.data);
}
