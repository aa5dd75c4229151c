/** The palette's items for a query: sessions, runnable commands, models. Pure but for its inputs. */
import type { ServerConfig, SessionView } from "@/api/types";
import { COMMANDS, type CommandId } from "@/keys/commands";
import { arrange, projectOf, titleOf } from "./sessionOrder";

export type PaletteItem =
  | { kind: "session"; key: string; title: string; about: string; session: SessionView }
  | { kind: "command"; key: string; title: string; about: string; command: CommandId }
  | { kind: "model"; key: string; title: string; about: string; model: string };

export interface PaletteGroup {
  title: string;
  items: PaletteItem[];
}

const MOST_SESSIONS = 12;
const MOST_AT_FIRST = 6;
const MOST_RECENT = 5;

export interface Known {
  sessions: Record<string, SessionView>;
  config: ServerConfig | null;
  canRun: (id: CommandId) => boolean;
  /** Keys of recently used items, the newest first. */
  recent: readonly string[];
  /** The open session: a chosen model applies to it, else to a new session. */
  here: SessionView | undefined;
}

export function groupsFor(query: string, known: Known): PaletteGroup[] {
  const groups = [
    { title: "Sessions", items: sessions(query, known) },
    { title: "Commands", items: commands(query, known) },
    { title: "Models", items: models(query, known) },
  ];
  if (query.trim()) return groups.filter((each) => each.items.length > 0);
  const all = groups.flatMap((each) => each.items);
  const recent = known.recent
    .flatMap((key) => all.find((each) => each.key === key) ?? [])
    .slice(0, MOST_RECENT);
  const taken = new Set(recent.map((each) => each.key));
  const rest = groups.map(({ title, items }) => ({
    title,
    items: items.filter((each) => !taken.has(each.key)),
  }));
  return [{ title: "Recent", items: recent }, ...rest].filter((each) => each.items.length > 0);
}

function sessions(query: string, known: Known): PaletteItem[] {
  const listed = arrange(known.sessions, { grouping: "state", filter: query, archived: true });
  const found = listed.flatMap((item) => {
    const session = item.kind === "session" ? known.sessions[item.id] : undefined;
    return session && session.id !== known.here?.id ? [session] : [];
  });
  return found.slice(0, query.trim() ? MOST_SESSIONS : MOST_AT_FIRST).map((session) => ({
    kind: "session",
    key: `session/${session.id}`,
    title: titleOf(session),
    about: projectOf(session),
    session,
  }));
}

function commands(query: string, known: Known): PaletteItem[] {
  return COMMANDS.filter((each) => !("quiet" in each && each.quiet) && known.canRun(each.id))
    .filter((each) => has(each.title, query))
    .map(({ id, title }) => ({ kind: "command", key: `command/${id}`, title, about: "", command: id }));
}

function models(query: string, known: Known): PaletteItem[] {
  if (!query.trim()) return [];
  return (known.config?.models ?? [])
    .filter((each) => each.available && has(`model ${each.alias} ${each.label}`, query))
    .map(({ alias, label }) => ({
      kind: "model",
      key: `model/${alias}`,
      title: known.here ? `Use ${alias} in this session` : `New session with ${alias}`,
      about: label,
      model: alias,
    }));
}

function has(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
