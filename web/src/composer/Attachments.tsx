/** Attachments of a message: images and long pasted texts. */
import { useRef, useState } from "react";
import { bytes, plural } from "@/format/values";
import { type DraftImage, draftOf, type Pasted, updateDraft, useDraft } from "@/state/drafts";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Sheet } from "@/ui/Sheet";

export function Attachments({ id }: { id: string }) {
  const pasted = useDraft(id, (draft) => draft.pasted);
  const images = useDraft(id, (draft) => draft.images);
  if (pasted.length + images.length === 0) return null;
  return (
    <ul aria-label="Attached" className="m-0 flex list-none flex-wrap gap-2 p-0 px-2 pt-2">
      {images.map((each) => (
        <ImageChip key={each.id} id={id} image={each} />
      ))}
      {pasted.map((each) => (
        <PastedChip key={each.id} id={id} pasted={each} />
      ))}
    </ul>
  );
}

const CHIP = "flex h-9 items-center gap-2 rounded-box bg-surface-2 pl-1.5 text-small max-md:h-11";

function ImageChip({ id, image }: { id: string; image: DraftImage }) {
  const { part, name, size } = image;
  const remove = () => updateDraft(id, { images: draftOf(id).images.filter((each) => each.id !== image.id) });
  return (
    <li className={CHIP}>
      <img
        src={`data:${part.media_type};base64,${part.data}`}
        alt={`Attached: ${name}`}
        className="h-7 w-7 rounded object-cover"
      />
      <span className="max-w-40 truncate">{name}</span>
      <span className="text-ink-3">{bytes(size)}</span>
      <IconButton label={`Remove ${name}`} onClick={remove}>
        <Icon name="close" size={12} />
      </IconButton>
    </li>
  );
}

function PastedChip({ id, pasted }: { id: string; pasted: Pasted }) {
  const [open, setOpen] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const size = bytes(new Blob([pasted.text]).size);
  const keep = (text: string | null) => {
    const all = draftOf(id).pasted;
    const changed = all.map((each) => (each.id === pasted.id ? { ...each, text: text ?? "" } : each));
    updateDraft(id, { pasted: changed.filter((each) => each.text.trim()) });
  };
  const close = () => {
    const text = field.current?.value ?? pasted.text;
    if (text !== pasted.text) keep(text);
    setOpen(false);
  };
  return (
    <li className={CHIP}>
      <Icon name="file" size={14} className="text-ink-3" />
      <button type="button" className="target hover:underline" onClick={() => setOpen(true)}>
        Pasted text, {size}
      </button>
      <IconButton label="Remove pasted text" onClick={() => keep(null)}>
        <Icon name="close" size={12} />
      </IconButton>
      <Sheet open={open} onClose={close} wide title="Pasted text" about={plural(lines(pasted.text), "line")}>
        <textarea
          ref={field}
          aria-label="Pasted text"
          defaultValue={pasted.text}
          spellCheck={false}
          className="block h-[55vh] w-full resize-none bg-surface-0 p-3 font-mono text-code outline-none"
        />
      </Sheet>
    </li>
  );
}

function lines(text: string): number {
  return text.split("\n").length;
}
