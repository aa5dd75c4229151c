/** Labels and choices for workflow, model and permission mode. */
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

/** The modes this workflow allows; those that need the approve scope are disabled without it. */
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

/** All models; unavailable ones are disabled and say why. */
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

/** The change to another workflow, with its first permission mode if it does not allow the current one. */
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

/** The default model's name; for the alias `default`, the label of the model it stands for. */
export function defaultModelName({ default_model: alias, models }: DefaultModel): string {
  return alias === "default" ? (models.find((each) => each.alias === alias)?.label ?? alias) : alias;
}

/** The alias of a session's model, if it has one. */
export function modelAlias(config: ServerConfig | null, named: string): string {
  const model = named || config?.default_model || "";
  const found = config?.models.find((each) => each.alias === model || each.name === model);
  return found?.alias ?? model;
}

/** End of the bypass in milliseconds; 0 without one. */
export function bypassEnd(session: SessionView, now: number): number {
  const end = (session.config.bypass_until ?? 0) * 1000;
  return session.permission_mode === BYPASS && end > now ? end : 0;
}

/** The effective permission mode: an expired bypass counts as `default`. */
export function modeNow(session: SessionView, now: number): string {
  return session.permission_mode === BYPASS && !bypassEnd(session, now) ? "default" : session.permission_mode;
}
