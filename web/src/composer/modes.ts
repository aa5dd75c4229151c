/** Workflow, model and permission mode of a session in words for people. */
import type { ServerConfig, SessionConfig, SessionView } from "@/api/types";

export const BYPASS = "bypassPermissions";

const LABELS: Record<string, string> = {
  default: "Ask",
  acceptEdits: "Accept edits",
  plan: "Plan only",
  auto: "Auto",
  dontAsk: "Never ask",
  bypassPermissions: "Bypass",
};

export function permissionLabel(mode: string): string {
  return LABELS[mode] ?? mode;
}

export interface Choice {
  value: string;
  label: string;
  about: string;
  disabled?: boolean;
}

function sentence(words: string): string {
  return words ? `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}` : "";
}

/** Those a session of this workflow may be in. */
export function permissionChoices(config: ServerConfig, workflow: SessionConfig["workflow"]): Choice[] {
  const may = config.workflows.find((each) => each.name === workflow)?.permission_modes ?? [];
  return config.permission_modes.map((each) => ({
    value: each.name,
    label: permissionLabel(each.name),
    about: sentence(each.description),
    disabled: may.length > 0 && !may.includes(each.name),
  }));
}

export function workflowChoices(config: ServerConfig, disabled: boolean): Choice[] {
  return config.workflows.map((each) => ({
    value: each.name,
    label: each.label,
    about: each.description,
    disabled,
  }));
}

export function workflowLabel(config: ServerConfig | null, workflow: string | undefined): string {
  return config?.workflows.find((each) => each.name === workflow)?.label ?? workflow ?? "Chat";
}

/** The alias of the model a session uses, where there is one. */
export function modelAlias(config: ServerConfig | null, model: string): string {
  const found = config?.models.find((each) => each.alias === model || each.name === model);
  return found?.alias ?? model;
}

/** Until when nothing is asked, in milliseconds; 0 where everything is asked as usual. */
export function bypassEnd(session: SessionView, now: number): number {
  const end = (session.config.bypass_until ?? 0) * 1000;
  return session.permission_mode === BYPASS && end > now ? end : 0;
}

/** The mode that holds now: a bypass whose time is over is none. */
export function modeNow(session: SessionView, now: number): string {
  return session.permission_mode === BYPASS && !bypassEnd(session, now) ? "default" : session.permission_mode;
}
