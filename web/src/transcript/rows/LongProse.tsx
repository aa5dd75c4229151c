/** Markdown that may be cut: beginning and end, with a divider that loads the rest. */
import { useEffect, useRef, useState } from "react";
import { plural } from "@/format/values";
import { openFence } from "@/text/fences";
import { Markdown } from "@/text/Markdown";
import type { CutText } from "./fullText";

export function LongProse({ text, streaming }: { text: CutText; streaming: boolean }) {
  const { head, rest } = text;
  return (
    <>
      <Markdown text={head} streaming={streaming} />
      {rest && (
        <>
          <Divider omitted={rest.omitted} load={rest.load} />
          <Markdown text={openFence(rest.tail)} streaming={false} />
        </>
      )}
    </>
  );
}

/** Loads when it comes into view; a click retries after a failure. */
function Divider({ omitted, load }: { omitted: number; load: () => Promise<void> }) {
  const [loading, setLoading] = useState(false);
  const container = useRef<HTMLDivElement>(null);
  const now = useRef(load);
  now.current = load;
  const begin = () => {
    setLoading(true);
    void now.current().finally(() => setLoading(false));
  };
  const first = useRef(begin);
  useEffect(() => {
    const element = container.current;
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
    <div ref={container} className="my-2 flex items-center gap-3 text-small">
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
