/** Notifications for a change of a session. Pure: from the state before and after. */
import type { SessionView } from "@/api/types";
import { titleOf } from "./sessionOrder";

export interface NotificationContent {
  /** A later notification with the same tag replaces it, from the page and from push alike. */
  tag: string;
  title: string;
  body: string;
  url: string;
  /** The request it is about, if any. */
  asks: string;
}

export function notificationsFor(
  before: SessionView | undefined,
  now: SessionView,
  withDone: boolean,
): NotificationContent[] {
  if (now.archived) return [];
  const known = new Set(before?.interactions.map((each) => each.id));
  const notifications: NotificationContent[] = now.interactions
    .filter((each) => !known.has(each.id))
    .map((each) => ({
      tag: `request-${each.id}`,
      title: titleOf(now),
      body:
        each.kind === "question"
          ? "A question for you."
          : each.kind === "plan"
            ? "A plan waits for your review."
            : `${each.tool} needs your permission.`,
      url: `/session/${now.id}?ask=${encodeURIComponent(each.id)}`,
      asks: each.id,
    }));
  const ended = before !== undefined && before.status !== now.status;
  if (ended && (now.status === "failed" || (now.status === "completed" && withDone))) {
    const body = now.status === "failed" ? "It failed. Open it to see why." : "Done.";
    notifications.push({
      tag: `session-${now.id}`,
      title: titleOf(now),
      body,
      url: `/session/${now.id}`,
      asks: "",
    });
  }
  return notifications;
}

/** The tab's title: the number of pending requests and the current page. */
export function pageTitle(waiting: number, page: string): string {
  const here = page ? `${page} · bobstay` : "bobstay";
  return waiting > 0 ? `(${waiting}) ${here}` : here;
}
