/** Where the right panel is: in a column of its own, or over the page where there is no room for one. */
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { PanelSheet } from "@/panels/PanelSheet";
import { SidePanel } from "@/panels/SidePanel";
import { openPanel, usePanelSheet } from "@/panels/sheet";
import { type PanelTab, useUi } from "@/state/ui";
import { Boundary } from "@/ui/Boundary";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { useMiddling, useNarrow } from "@/ui/media";
import { Resizer } from "./Resizer";

const LABEL = "Around the session";

export function PanelPlace({ session }: { session: SessionView }) {
  const narrow = useNarrow();
  const middling = useMiddling();
  if (narrow) return <PanelSheet session={session} />;
  return middling ? <PanelOver session={session} /> : <PanelColumn session={session} />;
}

function PanelColumn({ session }: { session: SessionView }) {
  const { panel, panelWidth } = useUi();
  useCommand("panel", () => useUi.getState().set({ panel: !panel }));
  if (!panel) return null;
  return (
    <aside
      aria-label={LABEL}
      style={{ width: panelWidth }}
      className="relative min-h-0 shrink-0 bg-surface-1"
    >
      <Resizer
        label="Width of the panel"
        value={panelWidth}
        side="right"
        onChange={(next) => useUi.getState().set({ panelWidth: next })}
      />
      <Boundary what="The panel" resetKey={session.id}>
        <SidePanel session={session} />
      </Boundary>
    </aside>
  );
}

/** Over the right side of the talk, which goes on beneath. It is not remembered: it hides what one reads. */
function PanelOver({ session }: { session: SessionView }) {
  const open = usePanelSheet((state) => state.open);
  const close = () => usePanelSheet.setState({ open: false });
  useCommand("panel", () => usePanelSheet.setState({ open: !open }));
  useCommand("list.clear", close, open);
  if (!open) return null;
  return (
    <aside
      aria-label={LABEL}
      className="absolute inset-y-0 right-0 z-20 w-[min(480px,80vw)] border-l border-line bg-surface-1 shadow-float"
    >
      <IconButton
        label="Close the panel"
        command="panel"
        onClick={close}
        className="absolute top-2 -left-9 bg-surface-2 shadow-float"
      >
        <Icon name="close" />
      </IconButton>
      <Boundary what="The panel" resetKey={session.id}>
        <SidePanel session={session} />
      </Boundary>
    </aside>
  );
}

const TABS: { tab: PanelTab; label: string }[] = [
  { tab: "diff", label: "Changes" },
  { tab: "files", label: "Files" },
  { tab: "terminal", label: "Terminal" },
  { tab: "tasks", label: "Tasks" },
  { tab: "context", label: "Context" },
  { tab: "events", label: "Events" },
];

/** On a phone the panels are one touch away from the talk. */
export function PanelStrip() {
  return (
    <nav
      aria-label="Panels of the session"
      className="hairline-b flex h-11 shrink-0 items-center gap-0.5 overflow-x-auto bg-surface-1 px-2"
    >
      <span aria-current="page" className="shrink-0 rounded-box bg-surface-2 px-2.5 py-1 text-ink-1">
        Talk
      </span>
      {TABS.map((each) => (
        <button
          key={each.tab}
          type="button"
          className="target shrink-0 rounded-box px-2 text-ink-2"
          onClick={() => openPanel(each.tab)}
        >
          {each.label}
        </button>
      ))}
    </nav>
  );
}
