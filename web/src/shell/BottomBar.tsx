/** The way around on a phone: under the thumb, and out of the way while somebody types. */
import { Link, useMatch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { needCount, useApp } from "@/state/app";
import { Icon, type IconName } from "@/ui/Icon";
import { MoreSheet } from "./MoreSheet";
import { useViewport } from "./viewport";

const ITEM =
  "flex min-h-12 flex-1 flex-col items-center justify-center gap-0.5 text-[11px] leading-4 no-underline aria-disabled:opacity-40";
const ACTIVE = { className: "text-accent" };
const RESTING = { className: "text-ink-2" };

export function BottomBar() {
  const [more, setMore] = useState(false);
  const keyboard = useViewport((state) => state.keyboard);
  const count = useApp((state) => needCount(state.sessions));
  const session = useLastSession();
  useRoom(!keyboard);
  if (keyboard) return null;
  return (
    <>
      <nav
        aria-label="Places"
        className="hairline-t flex shrink-0 bg-surface-1 pb-[env(safe-area-inset-bottom)]"
      >
        <Link
          to="/"
          className={ITEM}
          activeOptions={{ exact: true }}
          activeProps={ACTIVE}
          inactiveProps={RESTING}
        >
          <Sign icon="list" words="Sessions" />
        </Link>
        <Link to="/inbox" className={ITEM} activeProps={ACTIVE} inactiveProps={RESTING}>
          <Sign icon="inbox" words="Inbox" count={count} />
        </Link>
        <Link
          to="/session/$id"
          params={{ id: session || "none" }}
          disabled={!session}
          className={ITEM}
          activeProps={ACTIVE}
          inactiveProps={RESTING}
        >
          <Sign icon="comment" words="Session" />
        </Link>
        <button
          type="button"
          aria-haspopup="dialog"
          className={`${ITEM} text-ink-2`}
          onClick={() => setMore(true)}
        >
          <Sign icon="more" words="More" />
        </button>
      </nav>
      <MoreSheet open={more} onClose={() => setMore(false)} />
    </>
  );
}

/** What lies at the foot of a phone's page lies above the bar. */
function useRoom(shown: boolean): void {
  useEffect(() => {
    const { style } = document.documentElement;
    if (shown) style.setProperty("--bar", "calc(49px + env(safe-area-inset-bottom))");
    return () => void style.removeProperty("--bar");
  }, [shown]);
}

function Sign({ icon, words, count = 0 }: { icon: IconName; words: string; count?: number }) {
  return (
    <>
      <span className="relative">
        <Icon name={icon} size={20} />
        {count > 0 && (
          <span className="tabular absolute -top-1.5 left-3 min-w-4 rounded-full bg-needs-fill px-1 text-center text-[10px] leading-4 font-semibold text-on-needs">
            {count}
            <span className="sr-only"> waiting,</span>
          </span>
        )}
      </span>
      {words}
    </>
  );
}

/** The session one was in last, to go back to. */
function useLastSession(): string {
  const open = useMatch({ from: "/session/$id", shouldThrow: false })?.params.id ?? "";
  const [last, setLast] = useState(open);
  const there = useApp((state) => last in state.sessions);
  useEffect(() => {
    if (open) setLast(open);
  }, [open]);
  return open || (there ? last : "");
}
