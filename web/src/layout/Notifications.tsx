/** Notifies through the title, the favicon and desktop notifications. No sound. */
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import type { SessionView } from "@/api/types";
import { attentionCount, useApp, useSession } from "@/state/app";
import { useUi } from "@/state/ui";
import { setUnreadBaseline } from "@/state/unread";
import { showFavicon } from "./favicon";
import { type NotificationContent, notificationsFor, pageTitle } from "./notificationContent";
import { onNotificationClick, useNewVersion } from "./serviceWorker";
import { titleOf } from "./sessionOrder";
import { useCurrentId } from "./useSessionList";

export function Notifications() {
  const count = useApp((state) => attentionCount(state.sessions));
  const session = useSession(useCurrentId());
  const title = pageTitle(count, session ? titleOf(session) : "");
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => void showFavicon(count > 0), [count]);
  const listed = useApp((state) => state.listed);
  useEffect(() => {
    if (listed) setUnreadBaseline(Object.values(useApp.getState().sessions));
  }, [listed]);
  useDesktop();
  useNewVersion();
  return null;
}

function useDesktop(): void {
  const notify = useUi((state) => state.notify);
  const withDone = useUi((state) => state.notifyDone);
  const { history } = useRouter();
  useEffect(() => onNotificationClick((url) => history.push(url)), [history]);
  useEffect(() => {
    if (!notify) return;
    const shown = new Map<string, Notification>();
    const unsubscribe = useApp.subscribe((state, before) => {
      if (state.sessions === before.sessions) return;
      if (!before.listed) return; // no notifications for what was there at the start
      for (const [id, session] of Object.entries(state.sessions)) {
        const known = before.sessions[id];
        if (known === session) continue;
        if (known) closeSettled(known, session, shown);
        if (!document.hidden) continue;
        for (const content of notificationsFor(known, session, withDone))
          show(content, shown, (url) => history.push(url));
      }
    });
    return () => {
      unsubscribe();
      for (const each of shown.values()) each.close();
    };
  }, [notify, withDone, history]);
}

/** Closes notifications of requests that were answered. */
function closeSettled(before: SessionView, now: SessionView, shown: Map<string, Notification>): void {
  for (const { id } of before.interactions) {
    if (now.interactions.some((each) => each.id === id)) continue;
    shown.get(`request-${id}`)?.close();
    shown.delete(`request-${id}`);
  }
}

function show(
  content: NotificationContent,
  shown: Map<string, Notification>,
  go: (url: string) => void,
): void {
  if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
  try {
    const made = new Notification(content.title, {
      body: content.body,
      tag: content.tag,
      icon: "/icon-192.png",
    });
    made.onclick = () => {
      window.focus();
      made.close();
      go(content.url);
    };
    shown.set(content.tag, made);
  } catch {
    // Phones allow notifications only from the service worker, which gets pushes.
  }
}
