/** The collapsed sidebar: expand, new session, inbox. */
import { Link } from "@tanstack/react-router";
import { runCommand } from "@/keys/useCommand";
import { attentionCount, useApp } from "@/state/app";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";

const PLACE =
  "relative inline-flex size-7 items-center justify-center rounded-box text-ink-2 hover:bg-surface-2 hover:text-ink-1";

export function Rail() {
  const count = useApp((state) => attentionCount(state.sessions));
  return (
    <nav
      aria-label="Navigation"
      className="flex w-11 shrink-0 flex-col items-center gap-1 border-r border-line bg-surface-1 py-2"
    >
      <IconButton label="Show sidebar" command="sidebar" onClick={() => runCommand("sidebar")}>
        <Icon name="sidebar" />
      </IconButton>
      <Link to="/new" aria-label="New session" title="New session" className={PLACE}>
        <Icon name="plus" />
      </Link>
      <Link
        to="/inbox"
        aria-label={count > 0 ? `Inbox, ${count} waiting` : "Inbox"}
        title="Inbox"
        className={PLACE}
      >
        <Icon name="inbox" className={count > 0 ? "text-needs" : ""} />
        {count > 0 && (
          <span
            aria-hidden="true"
            className="tabular absolute -top-1 -right-1 min-w-4 rounded-full bg-needs-fill px-1 text-center text-[10px] leading-4 font-semibold text-on-needs"
          >
            {count}
          </span>
        )}
      </Link>
    </nav>
  );
}
