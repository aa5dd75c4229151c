/** Places the right panel: in a column, as an overlay, or as a sheet on phones. */
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { PanelSheet } from "@/panels/PanelSheet";
import { openPanel, usePanelSheet } from "@/panels/panelSheet";
import { SidePanel } from "@/panels/SidePanel";
import { type PanelTab, useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { useMedium, useNarrow } from "@/ui/media";
import { Resizer } from "./Resizer";

const LABEL = "Session panel";

export function PanelContainer({ session }: { session: SessionView }) {
  const narrow = useNarrow();
  const middling = useMedium();
  if (narrow) return <PanelSheet session={session} />;
  return middling ? <PanelOverlay session={session} /> : <PanelColumn session={session} />;
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
        label="Panel width"
        value={panelWidth}
        side="right"
        onChange={(next) => useUi.getState().set({ panelWidth: next })}
      />
      <ErrorBoundary label="The panel" resetKey={session.id}>
        <SidePanel session={session} />
      </ErrorBoundary>
    </aside>
  );
}

/** Overlay on medium screens. Its state is not stored, because it covers the transcript. */
function PanelOverlay({ session }: { session: SessionView }) {
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
        label="Close panel"
        command="panel"
        onClick={close}
        className="absolute top-2 -left-9 bg-surface-2 shadow-float"
      >
        <Icon name="close" />
      </IconButton>
      <ErrorBoundary label="The panel" resetKey={session.id}>
        <SidePanel session={session} />
      </ErrorBoundary>
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

/** Tabs on phones that open the panels. */
export function PanelStrip() {
  return (
    <nav
      aria-label="Session panels"
      className="hairline-b flex h-11 shrink-0 items-center gap-0.5 overflow-x-auto bg-surface-1 px-2"
    >
      <span aria-current="page" className="shrink-0 rounded-box bg-surface-2 px-2.5 py-1 text-ink-1">
        Transcript
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
