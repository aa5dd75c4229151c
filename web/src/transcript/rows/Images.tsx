/** Images of a message or result, with a fixed height so that nothing moves when they load. */
import type { RowImage } from "@/state/rows";

const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

export function Images({ images }: { images: readonly RowImage[] }) {
  if (images.length === 0) return null;
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {images.map((image, index) =>
        SHOWN.test(image.mediaType) ? (
          <img
            // biome-ignore lint/suspicious/noArrayIndexKey: images of a row never change
            key={index}
            src={`data:${image.mediaType};base64,${image.data}`}
            alt={`Attachment ${index + 1}`}
            className="h-40 max-w-full rounded-box border border-line object-contain"
          />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: images of a row never change
          <span key={index} className="text-ink-3">
            Unsupported image type ({image.mediaType})
          </span>
        ),
      )}
    </div>
  );
}
