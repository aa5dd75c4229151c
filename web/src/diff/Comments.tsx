/** Comments on a diff line, and the field to add one. */
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { keyOf, type LineComment, type LineRef, useCommenting } from "./comments";
import { keyed } from "./keyed";

export function Comments({ spot, text }: { spot: LineRef; text: string }) {
  const { comments, open, add, setOpen } = useCommenting();
  const key = keyOf(spot);
  const here = comments.get(key) ?? [];
  if (here.length === 0 && open !== key) return null;
  return (
    <div className="hairline-t hairline-b flex flex-col gap-2 bg-surface-1 px-3 py-2 font-sans text-chrome">
      {keyed(here).map(({ key: position, item }) => (
        <CommentLine key={position} comment={item} />
      ))}
      {open === key && add && (
        <CommentField
          spot={spot}
          onDone={(words) => {
            if (words) add({ ...spot, text, words });
            setOpen("");
          }}
        />
      )}
    </div>
  );
}

function CommentLine({ comment }: { comment: LineComment }) {
  const { remove } = useCommenting();
  return (
    <div className="flex items-start gap-2">
      <Icon name="comment" className="mt-0.5 text-ink-3" />
      <p className="m-0 min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere text-ink-1">{comment.words}</p>
      {remove && (
        <IconButton label="Remove this comment" className="h-5!" onClick={() => remove(comment)}>
          <Icon name="close" size={12} />
        </IconButton>
      )}
    </div>
  );
}

function CommentField({ spot, onDone }: { spot: LineRef; onDone: (words: string) => void }) {
  const [words, setWords] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus({ preventScroll: false }), []);
  const end = (said: string) => {
    const button = area.current
      ?.closest("figure")
      ?.querySelector<HTMLElement>(`[data-diff-line="${keyOf(spot)}"]`);
    onDone(said);
    button?.focus();
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      end("");
    } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      end(words.trim());
    }
  };
  return (
    <div className="flex flex-col gap-2">
      <textarea
        ref={area}
        rows={2}
        value={words}
        aria-label={`Comment on ${spot.side} line ${spot.line}`}
        placeholder="What should change here?"
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={keyed}
        className="w-full resize-y rounded-box border border-line-strong bg-surface-0 px-2 py-1"
      />
      <div className="flex justify-end gap-2">
        <Button look="quiet" onClick={() => end("")}>
          Cancel
        </Button>
        <Button look="primary" disabled={!words.trim()} onClick={() => end(words.trim())}>
          Comment
        </Button>
      </div>
    </div>
  );
}
