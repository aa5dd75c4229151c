/** A short text at the right of a call's line, truncated before the title is. */
import { VisibleText } from "@/ui/VisibleText";

export function Aside({ children, failed = false }: { children: string; failed?: boolean }) {
  return (
    <span
      className={`inline-block max-w-[min(18rem,30vw)] truncate align-bottom ${failed ? "text-failed" : "text-ink-3"}`}
    >
      <VisibleText text={children} />
    </span>
  );
}
