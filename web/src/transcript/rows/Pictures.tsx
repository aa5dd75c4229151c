/** Pictures people sent or tools made. They have room before they are there, so that nothing moves when they come. */
import type { Picture } from "@/state/rows";

const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

export function Pictures({ pictures }: { pictures: readonly Picture[] }) {
  if (pictures.length === 0) return null;
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {pictures.map((picture, index) =>
        SHOWN.test(picture.mediaType) ? (
          <img
            // biome-ignore lint/suspicious/noArrayIndexKey: pictures of a row never change
            key={index}
            src={`data:${picture.mediaType};base64,${picture.data}`}
            alt={`Attachment ${index + 1}`}
            className="h-40 max-w-full rounded-box border border-line object-contain"
          />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: pictures of a row never change
          <span key={index} className="text-ink-3">
            An image of a kind that is not shown ({picture.mediaType})
          </span>
        ),
      )}
    </div>
  );
}
