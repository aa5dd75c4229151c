/** How one comes in: a code in the address is exchanged for a cookie, once, and leaves the address at once (FM-45). */
import { ApiProblem, api, said, wordsOf } from "@/api/client";
import { useApp } from "@/state/app";
import { forgetAll, keepPage, keptPage } from "@/state/cache";
import { connect } from "@/stream/live";

const KEEP_MS = 2000;
let connected = false;
/** What is shown is from an earlier visit: the server has not been heard yet. */
let stale = false;

function codeHere(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("code");
}

let listening = false;

/** An address that differs only in its code loads no page anew: the one that is open has to notice. */
function listenForCodes(): void {
  if (listening) return;
  listening = true;
  window.addEventListener("hashchange", () => {
    if (codeHere()) void enter();
  });
}

/** The code in what somebody pasted: the code itself, or an address or a fragment that has it. */
export function codeIn(text: string): string {
  const pasted = text.trim();
  return pasted.includes("code=") ? (/code=([^&\s]+)/.exec(pasted)?.[1] ?? "") : pasted;
}

export async function enter(given = ""): Promise<void> {
  listenForCodes();
  const code = given || codeHere();
  const sentOut = connected && useApp.getState().connection === "refused";
  useApp.setState({ entry: "checking", problem: "", ...(sentOut ? { me: null } : {}) });
  try {
    if (code) {
      history.replaceState(null, "", location.pathname + location.search);
      await exchange(code);
    }
    if (sentOut) {
      // Whoever it is now sees nothing of whoever it was before.
      await said(api.GET("/auth/me"));
      location.reload();
      return;
    }
    await learn();
    begin();
  } catch (error) {
    if (!isRefused(error) && (await showKept())) begin();
    else leave(error);
  }
}

/** A code that is no longer good does not matter to somebody who is in already. */
async function exchange(code: string): Promise<void> {
  try {
    await said(api.POST("/auth/exchange", { body: { code, label: "" } }));
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status === 0) throw error;
    useApp.setState({ problem: error.message });
  }
}

async function learn(): Promise<void> {
  const me = await said(api.GET("/auth/me"));
  const config = await said(api.GET("/config"));
  stale = false;
  useApp.setState({ me, config, entry: "in" });
}

/** The page as it was: sessions that were seen can be read until the server is back. */
async function showKept(): Promise<boolean> {
  const page = await keptPage();
  if (!page) return false;
  const sessions = Object.fromEntries(page.sessions.map((each) => [each.id, each]));
  stale = true;
  useApp.setState({ me: page.me, config: page.config, sessions, listed: true, entry: "in" });
  return true;
}

function begin(): void {
  if (connected) return;
  connected = true;
  connect();
  useApp.subscribe((state, before) => {
    if (state.connection === "live" && before.connection !== "live" && stale)
      void learn().catch(leaveIfRefused);
    if (state.entry === "out" && before.entry !== "out") void forgetAll();
    if (state.sessions !== before.sessions) keepSoon();
  });
}

function leave(error: unknown): void {
  const out = isRefused(error);
  if (out) void forgetAll();
  useApp.setState({
    entry: out ? "out" : "down",
    // The page itself says how to sign in: only a code that was refused needs words.
    problem: useApp.getState().problem || (out ? "" : wordsOf(error)),
  });
}

/** What was shown from before stays readable while the server stumbles; it is asked again at the next connection. */
function leaveIfRefused(error: unknown): void {
  if (isRefused(error)) leave(error);
}

function isRefused(error: unknown): boolean {
  return error instanceof ApiProblem && (error.status === 401 || error.status === 403);
}

let keeping = 0;

/** Written down now and then, not at every change. */
function keepSoon(): void {
  if (keeping) return;
  keeping = window.setTimeout(() => {
    keeping = 0;
    const { me, config, sessions, listed, entry } = useApp.getState();
    if (me && config && listed && entry === "in" && !stale)
      void keepPage({ me, config, sessions: Object.values(sessions).filter((each) => !each.archived) });
  }, KEEP_MS);
}
