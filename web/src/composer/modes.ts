/** Workflow, model and permission mode of a session in words for people. */
import type { PermissionMode, ServerConfig, SessionConfig, SessionView } from "@/api/types";

export const BYPASS = "bypassPermissions";

export function permissionLabel(config: ServerConfig | null, mode: string): string {
  return config?.permission_modes.find((each) => each.name === mode)?.label ?? mode;
}

type DefaultModel = Pick<ServerConfig, "default_model" | "models">;

export interface Choice {
  value: string;
  label: string;
  about: string;
  disabled?: boolean;
}

/** Those a session of this workflow may be in, and somebody who may `approve` or not may choose. */
export function permissionChoices(
  config: ServerConfig,
  workflow: SessionConfig["workflow"],
  approves = true,
): Choice[] {
  const may = config.workflows.find((each) => each.name === workflow)?.permission_modes ?? [];
  return config.permission_modes.map(({ name, label, description, needs_approve }) => ({
    value: name,
    label,
    about: description,
    disabled: (may.length > 0 && !may.includes(name)) || (needs_approve && !approves),
  }));
}

/** Those that can be reached; the others say what is missing. */
export function modelChoices(config: ServerConfig): Choice[] {
  return config.models.map(({ alias, label, available, problem }) => ({
    value: alias,
    label: alias,
    about: available ? label : problem,
    disabled: !available,
  }));
}

export function workflowAbout({ description, details }: ServerConfig["workflows"][number]): string {
  return `${description}. ${details}`;
}

export function workflowChoices(config: ServerConfig, disabled: boolean): Choice[] {
  return config.workflows.map((each) => ({
    value: each.name,
    label: each.label,
    about: workflowAbout(each),
    disabled,
  }));
}

/** Another workflow, and the permission mode it begins in where it cannot be in the present one. */
export function workflowChange(
  config: ServerConfig,
  workflow: NonNullable<SessionConfig["workflow"]>,
  mode: string,
): { workflow: NonNullable<SessionConfig["workflow"]>; permission_mode?: PermissionMode } {
  const may = config.workflows.find((each) => each.name === workflow)?.permission_modes ?? [];
  const begins = may.length > 0 && !may.includes(mode) ? may[0] : undefined;
  return begins ? { workflow, permission_mode: begins as PermissionMode } : { workflow };
}

export function workflowLabel(config: ServerConfig | null, workflow: string | undefined): string {
  return config?.workflows.find((each) => each.name === workflow)?.label ?? workflow ?? "Chat";
}

/** What new sessions use, by a name that tells something: `default` is an alias for the best model there is. */
export function defaultModelName({ default_model: alias, models }: DefaultModel): string {
  return alias === "default" ? (models.find((each) => each.alias === alias)?.label ?? alias) : alias;
}

/** The alias of the model a session uses or would use, where there is one. */
export function modelAlias(config: ServerConfig | null, named: string): string {
  const model = named || config?.default_model || "";
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
