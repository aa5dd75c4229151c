/** Bottom navigation bar on phones; hidden while the keyboard is open. */
import { Link, useMatch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { attentionCount, useApp } from "@/state/app";
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
  const count = useApp((state) => attentionCount(state.sessions));
  const session = useLastSession();
  useBarHeight(!keyboard);
  if (keyboard) return null;
  return (
    <>
      <nav
        aria-label="Navigation"
        className="hairline-t flex shrink-0 bg-surface-1 pb-[env(safe-area-inset-bottom)]"
      >
        <Link
          to="/"
          className={ITEM}
          activeOptions={{ exact: true }}
          activeProps={ACTIVE}
          inactiveProps={RESTING}
        >
          <BarItem icon="list" label="Sessions" />
        </Link>
        <Link to="/inbox" className={ITEM} activeProps={ACTIVE} inactiveProps={RESTING}>
          <BarItem icon="inbox" label="Inbox" count={count} />
        </Link>
        <Link
          to="/session/$id"
          params={{ id: session || "none" }}
          disabled={!session}
          className={ITEM}
          activeProps={ACTIVE}
          inactiveProps={RESTING}
        >
          <BarItem icon="comment" label="Session" />
        </Link>
        <button
          type="button"
          aria-haspopup="dialog"
          className={`${ITEM} text-ink-2`}
          onClick={() => setMore(true)}
        >
          <BarItem icon="more" label="More" />
        </button>
      </nav>
      <MoreSheet open={more} onClose={() => setMore(false)} />
    </>
  );
}

/** Publishes the bar's height, so that content at the bottom stays above it. */
function useBarHeight(shown: boolean): void {
  useEffect(() => {
    const { style } = document.documentElement;
    if (shown) style.setProperty("--bar", "calc(49px + env(safe-area-inset-bottom))");
    return () => void style.removeProperty("--bar");
  }, [shown]);
}

function BarItem({ icon, label, count = 0 }: { icon: IconName; label: string; count?: number }) {
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
      {label}
    </>
  );
}

/** The last open session, to return to. */
function useLastSession(): string {
  const open = useMatch({ from: "/session/$id", shouldThrow: false })?.params.id ?? "";
  const [last, setLast] = useState(open);
  const there = useApp((state) => last in state.sessions);
  useEffect(() => {
    if (open) setLast(open);
  }, [open]);
  return open || (there ? last : "");
}
