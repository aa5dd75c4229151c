/** The places of the page. Every one has an address, and the back button works. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { BrokenPage } from "@/pages/BrokenPage";
import { HomePage } from "@/pages/HomePage";
import { NotFoundPage } from "@/pages/NotFoundPage";
import { AppShell } from "@/shell/AppShell";

const root = createRootRoute({ component: AppShell, notFoundComponent: NotFoundPage });

/** What a link to a session may point at. */
export interface SessionPlace {
  row?: string;
  call?: string;
  ask?: string;
  /** A file of the session's directory. */
  file?: string;
}

function word(value: unknown): string | undefined {
  return typeof value === "string" && value ? value : undefined;
}

function sessionPlace(search: Record<string, unknown>): SessionPlace {
  const place: SessionPlace = {};
  for (const name of ["row", "call", "ask", "file"] as const) {
    const given = word(search[name]);
    if (given) place[name] = given;
  }
  return place;
}

/** The largest part of the page. Who comes for a session does not wait for the rest first. */
const sessionPage = () => import("@/pages/SessionPage");
if (location.pathname.startsWith("/session/")) void sessionPage().catch(() => undefined);

const home = createRoute({ getParentRoute: () => root, path: "/", component: HomePage });
const create = createRoute({
  getParentRoute: () => root,
  path: "/new",
  validateSearch: (search: Record<string, unknown>): { cwd?: string; from?: string } => {
    const [cwd, from] = [word(search.cwd), word(search.from)];
    return { ...(cwd ? { cwd } : {}), ...(from ? { from } : {}) };
  },
  component: lazyRouteComponent(() => import("@/pages/NewSessionPage"), "NewSessionPage"),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: "/inbox",
  component: lazyRouteComponent(() => import("@/pages/InboxPage"), "InboxPage"),
});
export const sessionRoute = createRoute({
  getParentRoute: () => root,
  path: "/session/$id",
  validateSearch: sessionPlace,
  component: lazyRouteComponent(sessionPage, "SessionPage"),
});
const search = createRoute({
  getParentRoute: () => root,
  path: "/search",
  validateSearch: (given: Record<string, unknown>): { q?: string } => {
    const q = word(given.q);
    return q ? { q } : {};
  },
  component: lazyRouteComponent(() => import("@/pages/SearchPage"), "SearchPage"),
});
const usage = createRoute({
  getParentRoute: () => root,
  path: "/usage",
  component: lazyRouteComponent(() => import("@/pages/UsagePage"), "UsagePage"),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings/$part",
  component: lazyRouteComponent(() => import("@/pages/SettingsPage"), "SettingsPage"),
});
const compare = createRoute({
  getParentRoute: () => root,
  path: "/compare",
  validateSearch: (given: Record<string, unknown>): { ids?: string } => {
    const ids = word(given.ids);
    return ids ? { ids } : {};
  },
  component: lazyRouteComponent(() => import("@/pages/ComparePage"), "ComparePage"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, create, inbox, sessionRoute, search, usage, settings, compare]),
  defaultPreload: "intent",
  defaultErrorComponent: BrokenPage,
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
