/** Words and shapes for the states of MCP servers, and the actions each state allows. */
import type { McpServer } from "@/api/types";

export interface ServerStyle {
  shape: string;
  word: string;
  ink: string;
}

const STYLES: Record<string, ServerStyle> = {
  connected: { shape: "✓", word: "connected", ink: "text-done" },
  pending: { shape: "●", word: "connecting", ink: "text-running" },
  failed: { shape: "✗", word: "failed", ink: "text-failed" },
  "needs-auth": { shape: "◆", word: "sign-in needed", ink: "text-needs" },
  disabled: { shape: "◦", word: "off", ink: "text-ink-3" },
  configured: { shape: "◦", word: "starts with the next message", ink: "text-ink-3" },
  not_used: { shape: "◦", word: "not used", ink: "text-ink-3" },
};
const APPROVAL: ServerStyle = { shape: "◆", word: "needs approval", ink: "text-needs" };
const BLOCKED: ServerStyle = { shape: "◦", word: "not started", ink: "text-ink-3" };

export function serverStyle(server: McpServer): ServerStyle {
  if (server.needs_approval) return APPROVAL;
  if (server.state === "disabled" && server.error) return BLOCKED;
  return STYLES[server.state] ?? { shape: "◦", word: server.state, ink: "text-ink-3" };
}

export interface ServerActions {
  approve: boolean;
  signIn: boolean;
  reconnect: boolean;
  switchOff: boolean;
  switchOn: boolean;
}

export function serverActions(server: McpServer): ServerActions {
  const { state, live, error } = server;
  const up = live && state !== "disabled";
  return {
    approve: server.needs_approval,
    signIn: server.can_sign_in && (state === "needs-auth" || (!live && state === "configured")),
    reconnect: up && state !== "pending",
    switchOff: up,
    switchOn: live && state === "disabled" && !error,
  };
}

/** What people come for, by its state; the other actions are among the details. */
export function mainActions(server: McpServer): ServerActions {
  const can = serverActions(server);
  return { ...can, reconnect: can.reconnect && server.state === "failed", switchOff: false };
}

/** How many are connected, if an agent runs. */
export function connectedCount(servers: readonly McpServer[]): string {
  const connected = servers.filter((each) => each.state === "connected").length;
  const live = servers.some((each) => each.live);
  return live ? `${connected} of ${servers.length} connected` : String(servers.length);
}

/** Addresses of sign-ins come from servers: only web addresses are opened. */
export function isWebAddress(address: string): boolean {
  try {
    return ["http:", "https:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** Whether the browser runs on the machine of the console, as far as its address tells. */
export function isLocalConsole(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}
