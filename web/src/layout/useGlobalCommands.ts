/** Registers the commands that work on every page. */
import { useNavigate } from "@tanstack/react-router";
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { pendingInteractions, useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { themeNow } from "@/theme/theme";

export function useGlobalCommands(session: SessionView | undefined): void {
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
  useCommand("theme", () => ui.getState().set({ theme: themeNow() === "dark" ? "light" : "dark" }));
  useCommand("next.waiting", () => {
    const all = pendingInteractions(useApp.getState().sessions);
    // The one after the open session, so that pressing again moves on.
    const now = all.findIndex((each) => each.session.id === session?.id);
    const next = all[(now + 1) % Math.max(1, all.length)];
    if (!next) return false;
    void navigate({
      to: "/session/$id",
      params: { id: next.session.id },
      search: { ask: next.interaction.id },
    });
    return true;
  });
}
