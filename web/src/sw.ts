/**
 * The service worker: keeps the page's own files, so that it opens without a network, and shows what is pushed.
 * It never touches the API. The build puts the list of files in place of the marker.
 */

interface Told {
  title: string;
  body: string;
  url: string;
  tag: string;
}

const worker = globalThis as unknown as ServiceWorkerGlobalScope;
const SHELL: readonly string[] = "__SHELL__".split("|");
const CACHE = `bobstay-${"__VERSION__"}`;
/** Beside the newest, one older page may still be open in some tab. */
const KEPT = 2;
/** Longer than this nobody waits for the network where a page is at hand. */
const PATIENCE_MS = 4000;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then(fill));
  void worker.skipWaiting(); // it serves older pages just as well
});

/** One file that is not there does not leave the page without all others. */
async function fill(cache: Cache): Promise<void> {
  await Promise.all(SHELL.map((path) => cache.add(path).catch(() => undefined)));
  if (!(await cache.match("/"))) throw new Error("The page itself could not be fetched.");
}

worker.addEventListener("activate", (event) => {
  event.waitUntil(tidy().then(() => worker.clients.claim()));
});

async function tidy(): Promise<void> {
  const ours = (await caches.keys()).filter((name) => name.startsWith("bobstay-") && name !== CACHE);
  for (const name of ours.slice(0, Math.max(0, ours.length - KEPT + 1))) await caches.delete(name);
}

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (url.pathname.startsWith("/api/") || url.pathname.startsWith("/ws/")) return;
  if (request.mode === "navigate") event.respondWith(page(request));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(forever(request));
  else if (SHELL.includes(url.pathname)) event.respondWith(current(request));
});

/** The page as the server has it; where it does not answer, as it was. */
async function page(request: Request): Promise<Response> {
  const kept = await caches.match("/", { cacheName: CACHE });
  if (!kept) return fetch(request);
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
  try {
    const fresh = await fetch(request, { signal: patience.signal });
    return fresh.status >= 502 ? kept : fresh;
  } catch {
    return kept;
  } finally {
    clearTimeout(timer);
  }
}

/** Files whose name says what is in them. */
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
  // A page asks whether it is of this build.
  if ((event.data as { type?: unknown })?.type === "shell") event.ports[0]?.postMessage(SHELL);
});

worker.addEventListener("push", (event) => {
  const told = toldBy(event.data);
  if (told) event.waitUntil(show(told));
});

function toldBy(data: PushMessageData | null): Told | null {
  try {
    const { title, body, url, tag } = (data?.json() ?? {}) as Partial<Told>;
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

/** A place inside the page, and nowhere else. */
function isOwn(url: string): boolean {
  return url.startsWith("/") && new URL(url, worker.location.origin).origin === worker.location.origin;
}

async function show(told: Told): Promise<void> {
  const open = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (open.some((each) => each.focused)) return; // somebody looks at the page, which says it itself
  await worker.registration.showNotification(told.title, {
    body: told.body,
    tag: told.tag,
    icon: "/icon-192.png",
    badge: "/icon-badge.png",
    data: { url: told.url },
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

/** The service gave this device another address: the server is told. */
async function again(old: PushSubscription): Promise<void> {
  const made = await worker.registration.pushManager.subscribe(old.options);
  await fetch("/api/v1/push/subscriptions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...made.toJSON(), label: "" }),
  });
}

export {};
