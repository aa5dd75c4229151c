/** The sidebar: new session, inbox, session list, and links to the other pages. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { formatKey, keyOf, useKeymap } from "@/keys/keymap";
import { runCommand } from "@/keys/useCommand";
import { attentionCount, useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Kbd } from "@/ui/Kbd";
import { useNarrow } from "@/ui/media";
import { ConnectionState } from "./ConnectionState";
import { SelectionBar } from "./SelectionBar";
import { SessionList } from "./SessionList";
import { SessionListFooter } from "./SessionListFooter";
import { SessionListHeader } from "./SessionListHeader";
import { useSessionList } from "./useSessionList";

export function Sidebar() {
  const [filter, setFilter] = useState("");
  const [archived, setArchived] = useState(false);
  const items = useSessionList(filter, archived);
  const listed = useApp((state) => state.listed);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Top />
      <SessionListHeader filter={filter} onFilter={setFilter} />
      <SessionList
        items={items}
        footer={
          <SessionListFooter
            empty={listed && items.length === 0}
            filter={filter}
            onFilter={setFilter}
            archived={archived}
            onArchived={setArchived}
          />
        }
      />
      <SelectionBar />
      <Foot />
    </div>
  );
}

function Top() {
  const narrow = useNarrow();
  const own = useKeymap((state) => state.own);
  const count = useApp((state) => attentionCount(state.sessions));
  const row =
    "target flex h-7 items-center gap-2 rounded-box px-2 text-ink-1 no-underline hover:bg-surface-2";
  const active = { className: "bg-surface-3" };
  const Name = narrow ? "h1" : "div";
  return (
    <div className="px-2 pt-2">
      <div className="flex h-7 items-center px-2 max-md:h-11">
        {/* On phones the list is a page, and this is its heading. */}
        <Name className="m-0 flex-1 text-chrome max-md:text-prose">
          <Link to="/" className="target inline-flex items-center font-semibold text-ink-1 no-underline">
            bobstay
          </Link>
        </Name>
        {!narrow && (
          <IconButton label="Hide sidebar" command="sidebar" onClick={() => runCommand("sidebar")}>
            <Icon name="sidebar" />
          </IconButton>
        )}
        <button
          type="button"
          aria-label={`Search or run a command, ${formatKey(keyOf("palette", own))}`}
          className="target rounded-box px-1 hover:bg-surface-2"
          onClick={() => runCommand("palette")}
        >
          {narrow ? <Icon name="search" size={18} /> : <Kbd keys={formatKey(keyOf("palette", own))} />}
        </button>
      </div>
      <Link to="/new" className={`${row} mt-1 max-md:text-accent`} activeProps={active}>
        <Icon name="plus" className="md:text-ink-2" />
        <span className="flex-1">New</span>
        {!narrow && <Kbd keys={formatKey(keyOf("new", own))} />}
      </Link>
      <Link to="/inbox" className={`${row} max-md:hidden`} activeProps={active}>
        <Icon name="inbox" className={count > 0 ? "text-needs" : "text-ink-2"} />
        <span className="flex-1">Inbox</span>
        {count > 0 && (
          <span className="tabular min-w-5 rounded-full bg-needs-fill px-1.5 text-center text-small font-semibold text-on-needs">
            {count}
            <span className="sr-only"> waiting</span>
          </span>
        )}
      </Link>
    </div>
  );
}

function Foot() {
  const theme = useUi((state) => state.theme);
  const dark = theme !== "light";
  return (
    <div className="hairline-t mt-1 px-2 py-1.5 max-md:hidden">
      <div className="flex items-center gap-0.5">
        <NavLink to="/search" label="Search all sessions" icon="search" />
        <NavLink to="/usage" label="Usage" icon="chart" />
        <NavLink to="/settings/permissions" label="Settings" icon="settings" />
        <IconButton label="Toggle dark mode" command="theme" onClick={() => runCommand("theme")}>
          <Icon name={dark ? "sun" : "moon"} />
        </IconButton>
        <IconButton
          label="Notifications on this device"
          command="notify"
          onClick={() => runCommand("notify")}
        >
          <Icon name="bell" />
        </IconButton>
        <IconButton label="Keyboard shortcuts" command="help" onClick={() => runCommand("help")}>
          <Icon name="keyboard" />
        </IconButton>
      </div>
      <div className="px-1 pt-1">
        <ConnectionState />
      </div>
    </div>
  );
}

function NavLink({ to, label, icon }: { to: string; label: string; icon: "search" | "chart" | "settings" }) {
  return (
    <Link
      to={to}
      aria-label={label}
      title={label}
      className="target inline-flex size-7 items-center justify-center rounded-box text-ink-2 hover:bg-surface-2 hover:text-ink-1"
      activeProps={{ className: "bg-surface-3 text-ink-1" }}
    >
      <Icon name={icon} />
    </Link>
  );
}
