/** Sign-in: exchanges a one-time code in the URL for a cookie and removes it from the URL at once. */
import { ApiError, api, errorMessage, unwrap } from "@/api/client";
import { useApp } from "@/state/app";
import { cachePage, clearCache, loadCachedPage } from "@/state/cache";
import { connect } from "@/stream/connection";

const CACHE_MS = 2000;
let connected = false;
/** The page shows cached data: the server has not answered yet. */
let stale = false;

function codeInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("code");
}

let listening = false;

/** A URL that differs only in its fragment does not reload the page: listen for new codes. */
function listenForCodes(): void {
  if (listening) return;
  listening = true;
  window.addEventListener("hashchange", () => {
    if (codeInAddress()) void signIn();
  });
}

/** The code in a pasted code, URL or fragment. */
export function codeFrom(text: string): string {
  const pasted = text.trim();
  return pasted.includes("code=") ? (/code=([^&\s]+)/.exec(pasted)?.[1] ?? "") : pasted;
}

export async function signIn(given = ""): Promise<void> {
  listenForCodes();
  const code = given || codeInAddress();
  const sentOut = connected && useApp.getState().connection === "refused";
  useApp.setState({ auth: "checking", problem: "", ...(sentOut ? { me: null } : {}) });
  try {
    if (code) {
      history.replaceState(null, "", location.pathname + location.search);
      await exchange(code);
    }
    if (sentOut) {
      // Another person must not see the previous one's data.
      await unwrap(api.GET("/auth/me"));
      location.reload();
      return;
    }
    await loadServerState();
    begin();
  } catch (error) {
    if (!isRefused(error) && (await showCached())) begin();
    else signOut(error);
  }
}

/** An expired code does not matter if already signed in. */
async function exchange(code: string): Promise<void> {
  try {
    await unwrap(api.POST("/auth/exchange", { body: { code, label: "" } }));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    useApp.setState({ problem: error.message });
  }
}

async function loadServerState(): Promise<void> {
  const me = await unwrap(api.GET("/auth/me"));
  const config = await unwrap(api.GET("/config"));
  stale = false;
  useApp.setState({ me, config, auth: "in" });
}

/** Shows the cached page, readable until the server is back. */
async function showCached(): Promise<boolean> {
  const page = await loadCachedPage();
  if (!page) return false;
  const sessions = Object.fromEntries(page.sessions.map((each) => [each.id, each]));
  stale = true;
  useApp.setState({ me: page.me, config: page.config, sessions, listed: true, auth: "in" });
  return true;
}

function begin(): void {
  if (connected) return;
  connected = true;
  connect();
  useApp.subscribe((state, before) => {
    if (state.connection === "live" && before.connection !== "live" && stale)
      void loadServerState().catch(signOutIfRefused);
    if (state.auth === "out" && before.auth !== "out") void clearCache();
    if (state.sessions !== before.sessions) cacheSoon();
  });
}

function signOut(error: unknown): void {
  const out = isRefused(error);
  if (out) void clearCache();
  useApp.setState({
    auth: out ? "out" : "down",
    // The sign-in form explains itself: only a refused code shows a message.
    problem: useApp.getState().problem || (out ? "" : errorMessage(error)),
  });
}

/** Cached data stays readable during server errors; the next connection tries again. */
function signOutIfRefused(error: unknown): void {
  if (isRefused(error)) signOut(error);
}

function isRefused(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

let keeping = 0;

/** Caches the page, throttled. */
function cacheSoon(): void {
  if (keeping) return;
  keeping = window.setTimeout(() => {
    keeping = 0;
    const { me, config, sessions, listed, auth } = useApp.getState();
    if (me && config && listed && auth === "in" && !stale)
      void cachePage({ me, config, sessions: Object.values(sessions).filter((each) => !each.archived) });
  }, CACHE_MS);
}
