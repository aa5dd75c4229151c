/** Shows something in full, and tells when its end has been on the screen: before that nobody can approve it (FM-38). */
import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  label: string;
  /** Another one begins unseen. */
  of: string;
  onSeen: (of: string) => void;
  className?: string;
  children: ReactNode;
}

export function SeenToTheEnd({ label, of, onSeen, className = "", children }: Props) {
  const box = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const newest = useRef(onSeen);
  newest.current = onSeen;
  useEffect(() => {
    if (!box.current || !end.current) return;
    box.current.scrollTop = 0;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) newest.current(of);
      },
      { root: box.current },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [of]);
  return (
    <section
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to
      tabIndex={0}
      className={`max-h-[min(38vh,420px)] overflow-auto [overflow-wrap:anywhere] ${className}`}
    >
      {children}
      <div ref={end} className="h-px" />
    </section>
  );
}
