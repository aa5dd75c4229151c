/** Web push subscription of this device. */
import { api, unwrap } from "@/api/client";
import { useApp } from "@/state/app";
import { register } from "./serviceWorker";

export function canPush(): boolean {
  const enabled = useApp.getState().config?.notifications !== false;
  return enabled && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
}

export async function currentSubscription(): Promise<PushSubscription | null> {
  const worker = await register();
  return (await worker?.pushManager.getSubscription()) ?? null;
}

/** Subscribing again updates `completed`. */
export async function subscribe(completed: boolean): Promise<void> {
  const worker = await register();
  if (!worker) throw new Error("This browser has no service worker for this page, so push is not available.");
  await navigator.serviceWorker.ready;
  const made =
    (await worker.pushManager.getSubscription()) ??
    (await worker.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: bytesOf((await unwrap(api.GET("/push/key"))).public_key),
    }));
  const { endpoint = "", keys } = made.toJSON();
  const body = {
    endpoint,
    keys: { p256dh: keys?.p256dh ?? "", auth: keys?.auth ?? "" },
    label: deviceName(navigator.userAgent),
    completed,
  };
  await unwrap(api.POST("/push/subscriptions", { body }));
}

export async function unsubscribe(): Promise<void> {
  await (await currentSubscription())?.unsubscribe();
  const { subscriptions } = await unwrap(api.GET("/push/subscriptions"));
  for (const { id, mine } of subscriptions)
    if (mine) await api.DELETE("/push/subscriptions/{id}", { params: { path: { id } } });
}

export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** A name for this device: `Chrome on Android`. */
export function deviceName(agent: string): string {
  const find = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(agent))?.[1];
  const browser = find([
    [/Edg\//, "Edge"],
    [/Firefox\//, "Firefox"],
    [/Chrome\//, "Chrome"],
    [/Safari\//, "Safari"],
  ]);
  const system = find([
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
    [/Mac OS/, "macOS"],
    [/Linux/, "Linux"],
  ]);
  return [browser ?? "A browser", system].filter(Boolean).join(" on ");
}
