/**
 * Service worker: caches the page's files for offline use and shows push notifications.
 * It never handles API requests. The build replaces the markers with the list of files and the version.
 */

interface PushContent {
  title: string;
  body: string;
  url: string;
  tag: string;
}

const worker = globalThis as unknown as ServiceWorkerGlobalScope;
const PAGE_FILES: readonly string[] = "__FILES__".split("|");
const CACHE = `bobstay-${"__VERSION__"}`;
/** Besides the newest, an older build may still be open in some tab. */
const MAX_CACHES = 2;
/** After this time the cached page is used. */
const NETWORK_TIMEOUT_MS = 4000;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then(fill));
  void worker.skipWaiting(); // it serves older pages, too
});

/** A missing file does not prevent caching the others. */
async function fill(cache: Cache): Promise<void> {
  await Promise.all(PAGE_FILES.map((path) => cache.add(path).catch(() => undefined)));
  if (!(await cache.match("/"))) throw new Error("The page itself could not be fetched.");
}

worker.addEventListener("activate", (event) => {
  event.waitUntil(tidy().then(() => worker.clients.claim()));
});

async function tidy(): Promise<void> {
  const ours = (await caches.keys()).filter((name) => name.startsWith("bobstay-") && name !== CACHE);
  for (const name of ours.slice(0, Math.max(0, ours.length - MAX_CACHES + 1))) await caches.delete(name);
}

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (url.pathname.startsWith("/api/") || url.pathname.startsWith("/ws/")) return;
  if (request.mode === "navigate") event.respondWith(page(request));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(forever(request));
  else if (PAGE_FILES.includes(url.pathname)) event.respondWith(current(request));
});

/** The page from the network, or from the cache. */
async function page(request: Request): Promise<Response> {
  const kept = await caches.match("/", { cacheName: CACHE });
  if (!kept) return fetch(request);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), NETWORK_TIMEOUT_MS);
  try {
    const fresh = await fetch(request, { signal: timeout.signal });
    return fresh.status >= 502 ? kept : fresh;
  } catch {
    return kept;
  } finally {
    clearTimeout(timer);
  }
}

/** Files with a content hash in their name. */
async function forever(request: Request): Promise<Response> {
  const kept = await caches.match(request);
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.ok) {
    const copy = fresh.clone();
    void caches.open(CACHE).then((cache) => cache.put(request, copy));
  }
  return fresh;
}

async function current(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(request);
    if (kept) return kept;
    throw error;
  }
}

worker.addEventListener("message", (event) => {
  // A page checks whether it belongs to this build.
  if ((event.data as { type?: unknown })?.type === "shell") event.ports[0]?.postMessage(PAGE_FILES);
});

worker.addEventListener("push", (event) => {
  const content = pushContent(event.data);
  if (content) event.waitUntil(show(content));
});

function pushContent(data: PushMessageData | null): PushContent | null {
  try {
    const { title, body, url, tag } = (data?.json() ?? {}) as Partial<PushContent>;
    if (typeof title !== "string" || typeof url !== "string" || !isOwn(url)) return null;
    return {
      title,
      body: typeof body === "string" ? body : "",
      url,
      tag: typeof tag === "string" ? tag : "",
    };
  } catch {
    return null;
  }
}

/** Whether a URL is a path of this page. */
function isOwn(url: string): boolean {
  return url.startsWith("/") && new URL(url, worker.location.origin).origin === worker.location.origin;
}

async function show(content: PushContent): Promise<void> {
  const open = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (open.some((each) => each.focused)) return; // the focused page shows it itself
  await worker.registration.showNotification(content.title, {
    body: content.body,
    tag: content.tag,
    icon: "/icon-192.png",
    badge: "/icon-badge.png",
    data: { url: content.url },
  });
}

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url } = (event.notification.data ?? {}) as { url?: unknown };
  if (typeof url === "string" && isOwn(url)) event.waitUntil(go(url));
});

async function go(url: string): Promise<void> {
  const open = await worker.clients.matchAll({ type: "window" });
  const first = open.find((each) => each.visibilityState === "visible") ?? open[0];
  if (!first) {
    await worker.clients.openWindow(url);
    return;
  }
  first.postMessage({ type: "go", url });
  await first.focus();
}

worker.addEventListener("pushsubscriptionchange", (event) => {
  const { oldSubscription: old } = event as unknown as { oldSubscription: PushSubscription | null };
  if (old) (event as ExtendableEvent).waitUntil(again(old));
});

/** The push subscription changed: update the server. */
async function again(old: PushSubscription): Promise<void> {
  const made = await worker.registration.pushManager.subscribe(old.options);
  await fetch("/api/v1/push/subscriptions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...made.toJSON(), label: "" }),
  });
}

export {};
