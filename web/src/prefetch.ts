/** Prefetches lazy chunks when the page is idle, so that they are available offline. */
const DELAY_MS = 5000;

export function prefetchWhenIdle(): () => void {
  const timer = window.setTimeout(() => {
    if (!navigator.onLine) return;
    const parts = [
      () => import("@/ui/SheetBox"),
      () => import("@/layout/ConfirmBox"),
      () => import("@/approvals/PlanReview"),
      () => import("@/approvals/QuestionForm"),
      () => import("@/approvals/ElicitationForm"),
      () => import("@/transcript/Inspector"),
      () => import("@/transcript/find/FindBar"),
      () => import("@/layout/PaletteSheet"),
      () => import("@/layout/KeyTable"),
      () => import("@/pages/SessionPage"),
      () => import("@/pages/InboxPage"),
      () => import("@/pages/NewSessionPage"),
      () => import("@/pages/home/Overview"),
    ];
    for (const part of parts) void part().catch(() => undefined);
  }, DELAY_MS);
  return () => window.clearTimeout(timer);
}
