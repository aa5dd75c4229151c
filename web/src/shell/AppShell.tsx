/** Three columns on a desk, one on a phone; all that is there on every page. */
import { Outlet, useMatch, useNavigate } from "@tanstack/react-router";
import { useCommand } from "@/keys/useCommand";
import { PanelKeys } from "@/panels/PanelKeys";
import { PanelSheet } from "@/panels/PanelSheet";
import { SidePanel } from "@/panels/SidePanel";
import { useApp, useSession, waiting } from "@/state/app";
import { useUi } from "@/state/ui";
import { themeNow } from "@/theme/theme";
import { Boundary } from "@/ui/Boundary";
import { useNarrow } from "@/ui/media";
import { BottomBar } from "./BottomBar";
import { ConfirmDialog } from "./ConfirmDialog";
import { KeyHelp } from "./KeyHelp";
import { Notifications } from "./Notifications";
import { Palette } from "./Palette";
import { Resizer } from "./Resizer";
import { Sidebar } from "./Sidebar";

export function AppShell() {
  const narrow = useNarrow();
  const { sidebar, panel, sidebarWidth, panelWidth } = useUi();
  const match = useMatch({ from: "/session/$id", shouldThrow: false });
  const session = useSession(match?.params.id ?? "");
  useShellCommands();
  return (
    <div className="flex h-dvh flex-col">
      <div className="flex min-h-0 flex-1">
        {sidebar && !narrow && (
          <>
            <nav
              aria-label="Sessions"
              style={{ width: sidebarWidth }}
              className="min-h-0 shrink-0 bg-surface-1"
            >
              <Boundary what="The list of sessions">
                <Sidebar />
              </Boundary>
            </nav>
            <Resizer
              label="Width of the sessions"
              value={sidebarWidth}
              side="left"
              onChange={(width) => useUi.getState().set({ sidebarWidth: width })}
            />
          </>
        )}
        <main className="min-h-0 min-w-0 flex-1">
          <Boundary what="This page" resetKey={match?.params.id}>
            <Outlet />
          </Boundary>
        </main>
        {panel && session && !narrow && (
          <>
            <Resizer
              label="Width of the panel"
              value={panelWidth}
              side="right"
              onChange={(width) => useUi.getState().set({ panelWidth: width })}
            />
            <aside
              aria-label="Around the session"
              style={{ width: panelWidth }}
              className="min-h-0 shrink-0 bg-surface-1"
            >
              <SidePanel session={session} />
            </aside>
          </>
        )}
      </div>
      {session && <PanelKeys sessionId={session.id} />}
      {narrow && session && <PanelSheet session={session} />}
      {narrow && <BottomBar />}
      <Palette />
      <KeyHelp />
      <Notifications />
      <ConfirmDialog />
    </div>
  );
}

function useShellCommands(): void {
  const navigate = useNavigate();
  const ui = useUi;
  useCommand("new", () => void navigate({ to: "/new" }));
  useCommand("go.sessions", () => void navigate({ to: "/" }));
  useCommand("go.inbox", () => void navigate({ to: "/inbox" }));
  useCommand("go.search", () => void navigate({ to: "/search" }));
  useCommand("go.usage", () => void navigate({ to: "/usage" }));
  useCommand("go.settings", () => void navigate({ to: "/settings/$part", params: { part: "permissions" } }));
  useCommand("go.compare", () => void navigate({ to: "/compare" }));
  useCommand("sidebar", () => ui.getState().set({ sidebar: !ui.getState().sidebar }));
  useCommand("panel", () => ui.getState().set({ panel: !ui.getState().panel }));
  useCommand("theme", () => ui.getState().set({ theme: themeNow() === "dark" ? "light" : "dark" }));
  useCommand("next.waiting", () => {
    const next = waiting(useApp.getState().sessions)[0];
    if (!next) return false;
    void navigate({
      to: "/session/$id",
      params: { id: next.session.id },
      search: { ask: next.interaction.id },
    });
    return true;
  });
}
