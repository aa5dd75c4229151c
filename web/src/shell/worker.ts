/** The page's side of the service worker: puts it to work, notices a newer build, and goes where a notification leads. */
import { useEffect } from "react";
import { trustedScript } from "@/api/trusted";
import { useApp } from "@/state/app";
import { onFrame } from "@/stream/live";
import { MISSING_PART } from "@/ui/Boundary";
import { toast } from "@/ui/toast";

const NEWER = "A new version is ready.";

/** Where a notification was clicked that leads into the page. */
export function onWorkerPlace(go: (url: string) => void): () => void {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (!workers) return () => undefined;
  const heard = (event: MessageEvent) => {
    const { type, url } = (event.data ?? {}) as { type?: unknown; url?: unknown };
    if (type === "go" && typeof url === "string" && url.startsWith("/")) go(url);
  };
  workers.addEventListener("message", heard);
  return () => workers.removeEventListener("message", heard);
}

/** Says so when the server or its page is newer than this one. Nothing is reloaded under somebody's hands. */
export function useNewVersion(): void {
  useEffect(() => {
    const stop = onFrame((frame) => {
      if (frame.type !== "server.hello") return;
      const { config } = useApp.getState();
      const version = frame.data.version ?? "";
      if (config && version && version !== config.version) useApp.setState({ outdated: true });
      void registration?.update().catch(() => undefined);
    });
    const missing = (event: Event) => {
      (event as VitePreloadErrorEvent).payload.message = MISSING_PART;
      // A part of this page is not there, though the server is: then a newer one is.
      if (useApp.getState().connection === "live") sayNewer();
    };
    window.addEventListener("vite:preloadError", missing);
    void register();
    return () => {
      stop();
      window.removeEventListener("vite:preloadError", missing);
    };
  }, []);
}

let registration: ServiceWorkerRegistration | undefined;

export async function register(): Promise<ServiceWorkerRegistration | undefined> {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (!workers || !import.meta.env.PROD) return undefined;
  if (registration) return registration;
  try {
    const script = trustedScript("/sw.js");
    registration = await workers.register(script, { updateViaCache: "none" });
    workers.addEventListener("controllerchange", () => void compare());
    return registration;
  } catch {
    return undefined; // private windows and odd addresses have none: the page works without
  }
}

/** Another worker is in charge: does this page belong to its build? */
async function compare(): Promise<void> {
  const own = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.src;
  const shell = await shellOf(navigator.serviceWorker.controller);
  if (own && shell && !shell.includes(new URL(own).pathname)) sayNewer();
}

function shellOf(worker: ServiceWorker | null): Promise<string[] | null> {
  return new Promise((resolve) => {
    if (!worker) return resolve(null);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => resolve(event.data as string[]);
    worker.postMessage({ type: "shell" }, [port2]);
    window.setTimeout(() => resolve(null), 5000);
  });
}

function sayNewer(): void {
  toast(NEWER, {
    id: "newer",
    duration: Number.POSITIVE_INFINITY,
    action: { label: "Reload", onClick: () => location.reload() },
  });
}
