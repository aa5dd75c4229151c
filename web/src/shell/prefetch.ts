/** Parts that come when first needed are fetched beforehand, when the page has nothing else to do: then they are there offline. */
const CALM_MS = 5000;

export function prefetchSoon(): () => void {
  const timer = window.setTimeout(() => {
    if (!navigator.onLine) return;
    const parts = [
      () => import("@/ui/SheetBox"),
      () => import("./ConfirmBox"),
      () => import("@/dock/Plan"),
      () => import("@/dock/Question"),
      () => import("./FinderSheet"),
      () => import("./KeyTable"),
      () => import("@/pages/SessionPage"),
      () => import("@/pages/InboxPage"),
      () => import("@/pages/NewSessionPage"),
      () => import("@/pages/home/Overview"),
    ];
    for (const part of parts) void part().catch(() => undefined);
  }, CALM_MS);
  return () => window.clearTimeout(timer);
}
