/** A few words at the right of a call's line: cut where they would take the room of the call's own. */
import { Shown } from "@/ui/Hidden";

export function Aside({ children, failed = false }: { children: string; failed?: boolean }) {
  return (
    <span
      className={`inline-block max-w-[min(18rem,30vw)] truncate align-bottom ${failed ? "text-failed" : "text-ink-3"}`}
    >
      <Shown text={children} />
    </span>
  );
}
