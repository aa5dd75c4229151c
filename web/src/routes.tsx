/** Routes of the page. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { useEffect } from "react";
import { AppLayout } from "@/layout/AppLayout";
import { ErrorPage } from "@/pages/ErrorPage";
import { HomePage } from "@/pages/HomePage";
import { NotFoundPage } from "@/pages/NotFoundPage";
import { sessionSearch, word } from "@/pages/searchParams";
import { prefetchWhenIdle } from "./prefetch";

const root = createRootRoute({ component: Root, notFoundComponent: NotFoundPage });

function Root() {
  useEffect(prefetchWhenIdle, []);
  return <AppLayout />;
}

/** The largest chunk: loaded at once for a link to a session. */
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
const session = createRoute({
  getParentRoute: () => root,
  path: "/session/$id",
  validateSearch: sessionSearch,
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
  routeTree: root.addChildren([home, create, inbox, session, search, usage, settings, compare]),
  defaultPreload: "intent",
  defaultErrorComponent: ErrorPage,
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
