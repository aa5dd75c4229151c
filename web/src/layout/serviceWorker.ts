/** Registers the service worker, detects a newer build, and opens the page a notification points to. */
import { useEffect } from "react";
import { trustedScript } from "@/api/trustedTypes";
import { useApp } from "@/state/app";
import { onFrame } from "@/stream/connection";
import { MISSING_PART } from "@/ui/ErrorBoundary";
import { toast } from "@/ui/toast";

const UPDATE_READY = "A new version is ready.";

/** Calls `go` when a notification is clicked that points into the page. */
export function onNotificationClick(go: (url: string) => void): () => void {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (!workers) return () => undefined;
  const onMessage = (event: MessageEvent) => {
    const { type, url } = (event.data ?? {}) as { type?: unknown; url?: unknown };
    if (type === "go" && typeof url === "string" && url.startsWith("/")) go(url);
  };
  workers.addEventListener("message", onMessage);
  return () => workers.removeEventListener("message", onMessage);
}

/** Announces a newer server or page. Nothing is reloaded automatically. */
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
      // A chunk is missing though the server is reachable: a newer build was deployed.
      if (useApp.getState().connection === "live") announceUpdate();
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
    workers.addEventListener("controllerchange", () => void checkBuild());
    return registration;
  } catch {
    return undefined; // not available in private windows and on insecure origins
  }
}

/** Another service worker took over: check whether this page belongs to its build. */
async function checkBuild(): Promise<void> {
  const own = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.src;
  const shell = await cachedFilesOf(navigator.serviceWorker.controller);
  if (own && shell && !shell.includes(new URL(own).pathname)) announceUpdate();
}

function cachedFilesOf(worker: ServiceWorker | null): Promise<string[] | null> {
  return new Promise((resolve) => {
    if (!worker) return resolve(null);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => resolve(event.data as string[]);
    worker.postMessage({ type: "shell" }, [port2]);
    window.setTimeout(() => resolve(null), 5000);
  });
}

function announceUpdate(): void {
  toast(UPDATE_READY, {
    id: "newer",
    duration: Number.POSITIVE_INFINITY,
    action: { label: "Reload", onClick: () => location.reload() },
  });
}
