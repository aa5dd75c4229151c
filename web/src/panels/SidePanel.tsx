/** The right panel: one tab at a time, loaded on first use. It never takes the focus by itself. */
import { Tabs } from "radix-ui";
import { lazy, Suspense } from "react";
import type { SessionView } from "@/api/types";
import type { CommandId } from "@/keys/commands";
import { formatKey, keyOf } from "@/keys/keymap";
import { type PanelTab, useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { useNarrow } from "@/ui/media";
import { usePanelSheet } from "./panelSheet";

const TABS: { tab: PanelTab; label: string; command: CommandId }[] = [
  { tab: "diff", label: "Changes", command: "panel.diff" },
  { tab: "files", label: "Files", command: "panel.files" },
  { tab: "terminal", label: "Terminal", command: "panel.terminal" },
  { tab: "tasks", label: "Tasks", command: "panel.tasks" },
  { tab: "context", label: "Context", command: "panel.context" },
  { tab: "events", label: "Events", command: "panel.events" },
];

const PANELS = {
  diff: lazy(async () => ({ default: (await import("./DiffPanel")).DiffPanel })),
  files: lazy(async () => ({ default: (await import("./FilesPanel")).FilesPanel })),
  terminal: lazy(async () => ({ default: (await import("./TerminalPanel")).TerminalPanel })),
  tasks: lazy(async () => ({ default: (await import("./TasksPanel")).TasksPanel })),
  context: lazy(async () => ({ default: (await import("./ContextPanel")).ContextPanel })),
  events: lazy(async () => ({ default: (await import("./EventsPanel")).EventsPanel })),
};

export function SidePanel({ session }: { session: SessionView }) {
  const tab = useUi((state) => state.tab);
  const set = useUi((state) => state.set);
  const { panelWide: wide, sidebar, sidebarWidth } = useUi();
  const narrow = useNarrow();
  const Panel = PANELS[tab];
  return (
    <Tabs.Root
      value={tab}
      onValueChange={(next) => set({ tab: next as PanelTab })}
      onKeyDown={(event) => {
        if (event.key === "Escape" && wide && !event.defaultPrevented) set({ panelWide: false });
      }}
      // When wide, it overlays the transcript without remounting anything.
      className={
        wide && !narrow
          ? "fixed inset-y-0 right-0 z-20 flex flex-col bg-surface-1 shadow-float"
          : "flex h-full min-h-0 flex-col"
      }
      {...(wide && !narrow ? { style: { left: sidebar ? sidebarWidth + 24 : 48 } } : {})}
    >
      <div className="hairline-b flex h-11 shrink-0 items-center gap-1 px-2 max-md:h-12">
        <Tabs.List aria-label="Panels" className="flex min-w-0 flex-1 items-center gap-0.5 overflow-x-auto">
          {TABS.map((each) => (
            <Tab key={each.tab} {...each} />
          ))}
        </Tabs.List>
        {!narrow && (
          <IconButton
            label={wide ? "Restore panel width" : "Widen panel"}
            aria-pressed={wide}
            onClick={() => set({ panelWide: !wide })}
          >
            <Icon name={wide ? "panel" : "expand"} size={14} />
          </IconButton>
        )}
        {narrow && (
          <IconButton label="Close" onClick={() => usePanelSheet.setState({ open: false })}>
            <Icon name="close" />
          </IconButton>
        )}
      </div>
      <Tabs.Content value={tab} tabIndex={-1} className="min-h-0 flex-1 overflow-hidden outline-none">
        <ErrorBoundary label="This panel" resetKey={`${session.id}/${tab}`}>
          <Suspense fallback={null}>
            <Panel key={session.id} session={session} />
          </Suspense>
        </ErrorBoundary>
      </Tabs.Content>
    </Tabs.Root>
  );
}

function Tab({ tab, label, command }: { tab: PanelTab; label: string; command: CommandId }) {
  const key = keyOf(command);
  return (
    <Tabs.Trigger
      value={tab}
      title={key ? `${label} (${formatKey(key)})` : label}
      className="target shrink-0 rounded-box px-2 py-1 text-ink-2 hover:text-ink-1 data-[state=active]:bg-surface-2 data-[state=active]:text-ink-1"
    >
      {label}
    </Tabs.Trigger>
  );
}
