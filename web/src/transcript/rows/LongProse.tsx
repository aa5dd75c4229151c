/** Markdown that may have come without its middle: two texts with a divider between them that loads the rest. */
import { useEffect, useRef, useState } from "react";
import { fromTheMiddle } from "@/text/fences";
import { Markdown } from "@/text/Markdown";
import { plural } from "@/words/format";
import type { Ends } from "./whole";

export function LongProse({ ends, streaming }: { ends: Ends; streaming: boolean }) {
  const { head, rest } = ends;
  return (
    <>
      <Markdown text={head} streaming={streaming} />
      {rest && (
        <>
          <Divider omitted={rest.omitted} load={rest.load} />
          <Markdown text={fromTheMiddle(rest.tail)} streaming={false} />
        </>
      )}
    </>
  );
}

/** Loads by itself when it comes into view; pressed, it tries again after a failure. */
function Divider({ omitted, load }: { omitted: number; load: () => Promise<void> }) {
  const [loading, setLoading] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const now = useRef(load);
  now.current = load;
  const begin = () => {
    setLoading(true);
    void now.current().finally(() => setLoading(false));
  };
  const first = useRef(begin);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      observer.disconnect();
      first.current();
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={place} className="my-2 flex items-center gap-3 text-small">
      <span aria-hidden="true" className="h-px min-w-4 flex-1 bg-line" />
      <button
        type="button"
        disabled={loading}
        onClick={begin}
        className="target rounded text-accent hover:underline disabled:text-ink-3"
      >
        {loading ? "Loading…" : `Load ${plural(omitted, "character")}`}
      </button>
      <span aria-hidden="true" className="h-px min-w-4 flex-1 bg-line" />
    </div>
  );
}
