/** The layout of all pages: three columns on wide screens, two and an overlay on medium ones, one on phones. */
import { Outlet } from "@tanstack/react-router";
import { useEffect } from "react";
import { PanelKeys } from "@/panels/PanelKeys";
import { useSession } from "@/state/app";
import { useUi } from "@/state/ui";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { useNarrow } from "@/ui/media";
import { BottomBar } from "./BottomBar";
import { ConfirmDialog } from "./ConfirmDialog";
import { ConnectionStrip } from "./ConnectionState";
import { KeyHelp } from "./KeyHelp";
import { NotificationSheet } from "./NotificationSheet";
import { Notifications } from "./Notifications";
import { Palette } from "./Palette";
import { PanelContainer, PanelStrip } from "./PanelContainer";
import { Rail } from "./Rail";
import { Resizer } from "./Resizer";
import { Sidebar } from "./Sidebar";
import { useGlobalCommands } from "./useGlobalCommands";
import { useCurrentId } from "./useSessionList";
import { keepViewport } from "./viewport";

export function AppLayout() {
  const narrow = useNarrow();
  const sidebar = useUi((state) => state.sidebar);
  const id = useCurrentId();
  const session = useSession(id);
  useGlobalCommands(session);
  useEffect(keepViewport, []);
  return (
    <div className="flex h-(--page-height,100dvh) flex-col pt-[env(safe-area-inset-top)]">
      <div className="relative flex min-h-0 flex-1">
        {!narrow && (sidebar ? <SidebarColumn /> : <Rail />)}
        <main className="flex min-h-0 min-w-0 flex-1 flex-col">
          {narrow && session && <PanelStrip />}
          <div className="min-h-0 flex-1">
            <ErrorBoundary label="This page" resetKey={id}>
              <Outlet />
            </ErrorBoundary>
          </div>
        </main>
        {session && <PanelKeys sessionId={session.id} />}
        {session && <PanelContainer session={session} />}
      </div>
      {(narrow || !sidebar) && <ConnectionStrip />}
      {narrow && <BottomBar />}
      <ErrorBoundary label="The command palette">
        <Palette />
      </ErrorBoundary>
      <ErrorBoundary label="Keyboard shortcuts">
        <KeyHelp />
      </ErrorBoundary>
      <Notifications />
      <ErrorBoundary label="Notification settings">
        <NotificationSheet />
      </ErrorBoundary>
      <ErrorBoundary label="This dialog">
        <ConfirmDialog />
      </ErrorBoundary>
    </div>
  );
}

function SidebarColumn() {
  const width = useUi((state) => state.sidebarWidth);
  return (
    <nav aria-label="Sessions" style={{ width }} className="relative min-h-0 shrink-0 bg-surface-1">
      <ErrorBoundary label="Session list">
        <Sidebar />
      </ErrorBoundary>
      <Resizer
        label="Sidebar width"
        value={width}
        side="left"
        onChange={(next) => useUi.getState().set({ sidebarWidth: next })}
      />
    </nav>
  );
}
