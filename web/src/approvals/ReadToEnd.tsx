/** Scrollable content that reports when its end has been visible: nothing can be approved before. */
import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  label: string;
  /** A new id starts as unread. */
  id: string;
  onSeen: (of: string) => void;
  className?: string;
  children: ReactNode;
}

export function ReadToEnd({ label, id, onSeen, className = "", children }: Props) {
  const box = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const newest = useRef(onSeen);
  newest.current = onSeen;
  useEffect(() => {
    if (!box.current || !end.current) return;
    box.current.scrollTop = 0;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) newest.current(id);
      },
      { root: box.current },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [id]);
  return (
    <section
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
      tabIndex={0}
      className={`max-h-[min(38vh,420px)] overflow-auto [overflow-wrap:anywhere] ${className}`}
    >
      {children}
      <div ref={end} className="h-px" />
    </section>
  );
}
