/** Menu for what does not fit into the bottom bar. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { runCommand } from "@/keys/useCommand";
import { Icon, type IconName } from "@/ui/Icon";
import { Sheet } from "@/ui/Sheet";
import { ConnectionState } from "./ConnectionState";

const ROW =
  "target flex w-full items-center gap-3 rounded-box px-3 py-2 text-left text-prose text-ink-1 no-underline hover:bg-surface-2";

const LINKS: { to: string; label: string; icon: IconName }[] = [
  { to: "/new", label: "New session", icon: "plus" },
  { to: "/search", label: "Search all sessions", icon: "search" },
  { to: "/compare", label: "Compare sessions", icon: "columns" },
  { to: "/usage", label: "Usage", icon: "chart" },
  { to: "/settings/permissions", label: "Settings", icon: "settings" },
];

export function MoreSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const act = (run: () => void) => () => {
    onClose();
    run();
  };
  return (
    <Sheet open={open} onClose={onClose} title="More">
      <div className="p-2 pb-[max(8px,env(safe-area-inset-bottom))]">
        {LINKS.map((each) => (
          <Link key={each.to} to={each.to} onClick={onClose} className={ROW}>
            <Icon name={each.icon} className="text-ink-2" />
            {each.label}
          </Link>
        ))}
        <Row icon="sun" onClick={() => runCommand("theme")}>
          Toggle dark mode
        </Row>
        <Row icon="bell" onClick={act(() => void runCommand("notify"))}>
          Notifications on this device
        </Row>
        <Row icon="keyboard" onClick={act(() => void runCommand("help"))}>
          Keyboard shortcuts
        </Row>
        <div className="px-3 pt-3 pb-1">
          <ConnectionState />
        </div>
      </div>
    </Sheet>
  );
}

function Row({ icon, onClick, children }: { icon: IconName; onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" onClick={onClick} className={ROW}>
      <Icon name={icon} className="text-ink-2" />
      {children}
    </button>
  );
}
