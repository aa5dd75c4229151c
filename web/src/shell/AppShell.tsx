/** Three columns on a desk, two and a sheet on a small one, one on a phone; all that is there on every page. */
import { Outlet } from "@tanstack/react-router";
import { useEffect } from "react";
import { PanelKeys } from "@/panels/PanelKeys";
import { useSession } from "@/state/app";
import { useUi } from "@/state/ui";
import { Boundary } from "@/ui/Boundary";
import { useNarrow } from "@/ui/media";
import { BottomBar } from "./BottomBar";
import { ConfirmDialog } from "./ConfirmDialog";
import { ConnectionStrip } from "./ConnectionState";
import { KeyHelp } from "./KeyHelp";
import { NotificationSheet } from "./NotificationSheet";
import { Notifications } from "./Notifications";
import { Palette } from "./Palette";
import { PanelPlace, PanelStrip } from "./PanelPlace";
import { prefetchSoon } from "./prefetch";
import { Rail } from "./Rail";
import { Resizer } from "./Resizer";
import { Sidebar } from "./Sidebar";
import { useCurrentId } from "./useListed";
import { useShellCommands } from "./useShellCommands";
import { keepViewport } from "./viewport";

export function AppShell() {
  const narrow = useNarrow();
  const sidebar = useUi((state) => state.sidebar);
  const id = useCurrentId();
  const session = useSession(id);
  useShellCommands(session);
  useEffect(keepViewport, []);
  useEffect(prefetchSoon, []);
  return (
    <div className="flex h-(--page-height,100dvh) flex-col pt-[env(safe-area-inset-top)]">
      <div className="relative flex min-h-0 flex-1">
        {!narrow && (sidebar ? <SidebarColumn /> : <Rail />)}
        <main className="flex min-h-0 min-w-0 flex-1 flex-col">
          {narrow && session && <PanelStrip />}
          <div className="min-h-0 flex-1">
            <Boundary what="This page" resetKey={id}>
              <Outlet />
            </Boundary>
          </div>
        </main>
        {session && <PanelKeys sessionId={session.id} />}
        {session && <PanelPlace session={session} />}
      </div>
      {(narrow || !sidebar) && <ConnectionStrip />}
      {narrow && <BottomBar />}
      <Boundary what="The command palette">
        <Palette />
      </Boundary>
      <Boundary what="The list of keys">
        <KeyHelp />
      </Boundary>
      <Notifications />
      <Boundary what="The settings for notifications">
        <NotificationSheet />
      </Boundary>
      <Boundary what="This question">
        <ConfirmDialog />
      </Boundary>
    </div>
  );
}

function SidebarColumn() {
  const width = useUi((state) => state.sidebarWidth);
  return (
    <nav aria-label="Sessions" style={{ width }} className="relative min-h-0 shrink-0 bg-surface-1">
      <Boundary what="The list of sessions">
        <Sidebar />
      </Boundary>
      <Resizer
        label="Width of the sessions"
        value={width}
        side="left"
        onChange={(next) => useUi.getState().set({ sidebarWidth: next })}
      />
    </nav>
  );
}
