/** Everything a phone's bar has no room for. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { runCommand } from "@/keys/useCommand";
import { Icon, type IconName } from "@/ui/Icon";
import { Sheet } from "@/ui/Sheet";
import { ConnectionState } from "./ConnectionState";

const ROW =
  "target flex w-full items-center gap-3 rounded-box px-3 py-2 text-left text-prose text-ink-1 no-underline hover:bg-surface-2";

const PLACES: { to: string; words: string; icon: IconName }[] = [
  { to: "/new", words: "New session", icon: "plus" },
  { to: "/search", words: "Search in all sessions", icon: "search" },
  { to: "/compare", words: "Compare sessions", icon: "columns" },
  { to: "/usage", words: "Usage", icon: "chart" },
  { to: "/settings/permissions", words: "Settings", icon: "settings" },
];

export function MoreSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const act = (run: () => void) => () => {
    onClose();
    run();
  };
  return (
    <Sheet open={open} onClose={onClose} title="More">
      <div className="p-2 pb-[max(8px,env(safe-area-inset-bottom))]">
        {PLACES.map((each) => (
          <Link key={each.to} to={each.to} onClick={onClose} className={ROW}>
            <Icon name={each.icon} className="text-ink-2" />
            {each.words}
          </Link>
        ))}
        <Row icon="sun" onClick={() => runCommand("theme")}>
          Switch between dark and light
        </Row>
        <Row icon="bell" onClick={act(() => void runCommand("notify"))}>
          Notifications on this device
        </Row>
        <Row icon="keyboard" onClick={act(() => void runCommand("help"))}>
          All keys
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
