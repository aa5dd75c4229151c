/** Text exactly as it is, for somebody to decide on: all of it, nothing interpreted, nothing hidden (FM-38). */
import { Shown } from "@/ui/Hidden";
import { hasHidden } from "@/words/hidden";
import { PRE } from "./LongText";

export function Literal({ text, label }: { text: string; label: string }) {
  return (
    <figure aria-label={label} className="m-0 min-w-0 rounded-box bg-surface-0 px-3 py-2">
      <pre className={PRE}>
        <Shown text={text} />
      </pre>
      {hasHidden(text) && (
        <p className="m-0 mt-1 text-small text-needs">
          Characters that would not be seen are marked by name. Look twice.
        </p>
      )}
    </figure>
  );
}

/** One more thing that is asked: a word for it, and the thing. */
export function Asked({ label, text }: { label: string; text: string }) {
  return (
    <p className="m-0 flex min-w-0 gap-2">
      <span className="shrink-0 text-ink-3">{label}</span>
      <span className="min-w-0 whitespace-pre-wrap wrap-anywhere">
        <Shown text={text} />
      </span>
    </p>
  );
}
