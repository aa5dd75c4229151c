/** Literal text of an approval request: complete, not interpreted, invisible characters shown. */
import { hasInvisible } from "@/format/invisible";
import { VisibleText } from "@/ui/VisibleText";
import { PRE } from "./LongText";

export function Literal({ text, label }: { text: string; label: string }) {
  return (
    <figure aria-label={label} className="m-0 min-w-0 rounded-box bg-surface-0 px-3 py-2">
      <pre className={PRE}>
        <VisibleText text={text} />
      </pre>
      {hasInvisible(text) && (
        <p className="m-0 mt-1 text-small text-needs">
          Contains invisible characters, shown by name. Check carefully.
        </p>
      )}
    </figure>
  );
}

/** A labelled value of an approval request. */
export function RequestField({ label, text }: { label: string; text: string }) {
  return (
    <p className="m-0 flex min-w-0 gap-2">
      <span className="shrink-0 text-ink-3">{label}</span>
      <span className="min-w-0 whitespace-pre-wrap wrap-anywhere">
        <VisibleText text={text} />
      </span>
    </p>
  );
}
