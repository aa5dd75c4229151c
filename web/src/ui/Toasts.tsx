/** Short words at the edge of the page: what was done, and how to undo it. They wait while somebody is at them. */
import { useEffect, useState } from "react";
import { Icon } from "./Icon";
import { dismiss, type Told, useToasts } from "./toast";

export function Toasts() {
  const told = useToasts((state) => state.told);
  const [held, setHeld] = useState(false);
  // With the last one the pointer and the focus are gone, too, and nothing says so.
  if (told.length === 0 && held) setHeld(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: nothing is done here, it only waits; a name would make it a landmark
    <section
      className="pointer-events-none fixed right-4 bottom-4 z-[60] flex w-[min(22rem,calc(100vw-2rem))] flex-col gap-2 max-md:bottom-[calc(var(--bar,0px)+12px)]"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      {/* Both are there from the start: a region that comes with its words is often not read aloud. A dialog hides all but live ones. */}
      <div role="alert" aria-live="assertive" className="flex flex-col gap-2">
        {told.map((each) => each.error && <Toast key={each.id} told={each} held={held} />)}
      </div>
      <div role="status" aria-live="polite" className="flex flex-col gap-2">
        {told.map((each) => !each.error && <Toast key={each.id} told={each} held={held} />)}
      </div>
    </section>
  );
}

function Toast({ told, held }: { told: Told; held: boolean }) {
  const { id, words, description, action, error } = told;
  useEffect(() => {
    if (held || !Number.isFinite(told.duration)) return;
    const timer = window.setTimeout(() => dismiss(told.id), told.duration);
    return () => window.clearTimeout(timer);
  }, [told, held]);
  return (
    <div
      data-toast={error ? "error" : "done"}
      className="pointer-events-auto flex items-start gap-2 rounded-box border border-line bg-surface-3 py-2 pr-1.5 pl-3 text-chrome text-ink-1 shadow-float"
    >
      {error && (
        <span aria-hidden="true" className="shrink-0 text-failed">
          ✗
        </span>
      )}
      <div className="min-w-0 flex-1 break-words">
        {words}
        {description && <div className="text-small text-ink-2">{description}</div>}
      </div>
      {action && (
        <button
          type="button"
          className="target -my-0.5 h-6 shrink-0 rounded px-2 font-semibold text-accent hover:bg-surface-1"
          onClick={() => {
            dismiss(id);
            action.onClick();
          }}
        >
          {action.label}
        </button>
      )}
      <button
        type="button"
        aria-label="Dismiss"
        className="target -my-0.5 inline-flex size-6 shrink-0 items-center justify-center rounded text-ink-2 hover:bg-surface-1 hover:text-ink-1"
        onClick={() => dismiss(id)}
      >
        <Icon name="close" size={12} />
      </button>
    </div>
  );
}
