/** Toasts: what was done and how to undo it. Their timers pause while one is hovered or focused. */
import { useEffect, useState } from "react";
import { Icon } from "./Icon";
import { dismiss, type ToastItem, useToasts } from "./toast";

export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  const [held, setHeld] = useState(false);
  // When the last toast goes, no pointerleave or blur event follows.
  if (toasts.length === 0 && held) setHeld(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only pauses timers; a label would make it a landmark
    <section
      className="pointer-events-none fixed right-4 bottom-4 z-[60] flex w-[min(22rem,calc(100vw-2rem))] flex-col gap-2 max-md:bottom-[calc(var(--bar,0px)+12px)]"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      {/* Both regions exist from the start: screen readers often skip a live region that is added together with its text. */}
      <div role="alert" aria-live="assertive" className="flex flex-col gap-2">
        {toasts.map((each) => each.error && <Toast key={each.id} item={each} held={held} />)}
      </div>
      <div role="status" aria-live="polite" className="flex flex-col gap-2">
        {toasts.map((each) => !each.error && <Toast key={each.id} item={each} held={held} />)}
      </div>
    </section>
  );
}

function Toast({ item, held }: { item: ToastItem; held: boolean }) {
  const { id, message, description, action, error } = item;
  useEffect(() => {
    if (held || !Number.isFinite(item.duration)) return;
    const timer = window.setTimeout(() => dismiss(item.id), item.duration);
    return () => window.clearTimeout(timer);
  }, [item, held]);
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
        {message}
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
