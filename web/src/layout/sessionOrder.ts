/** Order and grouping of the session list: by state or by project. Pure. */
import type { SessionView } from "@/api/types";
import { oneLine } from "@/format/invisible";
import { serverNow } from "@/format/serverClock";
import { baseName } from "@/format/values";
import { wasCutOff } from "@/state/app";

export type Grouping = "state" | "project";

export type Section = "needs" | "running" | "failed" | "done" | "archived";

const SECTIONS: Section[] = ["needs", "running", "failed", "done", "archived"];
export const SECTION_TITLES: Record<Section, string> = {
  needs: "Needs you",
  running: "Running",
  failed: "Failed",
  done: "Done",
  archived: "Archived",
};
/** Older failures are listed under Done. */
const RECENT_SECONDS = 86_400;

export type ListItem =
  | { kind: "head"; id: string; title: string; count: number; project: string }
  | { kind: "session"; id: string };

export interface ListOptions {
  grouping: Grouping;
  filter: string;
  archived: boolean;
}

export function sectionOf(session: SessionView, now: number): Section {
  if (session.archived) return "archived";
  if (session.status === "waiting_input" || wasCutOff(session, now)) return "needs";
  if (["running", "starting", "interrupting"].includes(session.status)) return "running";
  if (session.status === "failed" && now - changedAt(session) < RECENT_SECONDS) return "failed";
  return "done";
}

/** The time a session's age counts from: its oldest request, its end, or its last update. */
export function changedAt(session: SessionView): number {
  if (session.status === "waiting_input") return session.interactions[0]?.opened_at ?? session.updated_at;
  return session.ended_at || session.updated_at || session.created_at;
}

export function projectOf(session: SessionView): string {
  return session.config.project || session.cwd;
}

export function titleOf(session: SessionView): string {
  return oneLine(session.title || session.first_prompt.slice(0, 200)) || "Untitled session";
}

/** Whether each word of the filter occurs in the title, path, project or branch. */
export function matches(session: SessionView, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text =
    `${titleOf(session)}\n${session.cwd}\n${projectOf(session)}\n${session.config.branch}`.toLowerCase();
  return words.every((word) => text.includes(word) || (word.length >= 8 && session.id.startsWith(word)));
}

export function arrange(
  sessions: Record<string, SessionView>,
  wanted: ListOptions,
  now = serverNow() / 1000,
): ListItem[] {
  const shown = Object.values(sessions).filter(
    (each) =>
      each.status !== "discarded" && (!each.archived || wanted.archived) && matches(each, wanted.filter),
  );
  return wanted.grouping === "state" ? byState(shown, now) : byProject(shown, now);
}

function byState(shown: SessionView[], now: number): ListItem[] {
  const groups = new Map<Section, SessionView[]>(SECTIONS.map((each) => [each, []]));
  for (const session of shown) groups.get(sectionOf(session, now))?.push(session);
  const items: ListItem[] = [];
  for (const [section, found] of groups) {
    if (found.length === 0) continue;
    items.push({
      kind: "head",
      id: `head/${section}`,
      title: SECTION_TITLES[section],
      count: found.length,
      project: "",
    });
    for (const { id } of found.sort(inSection(section))) items.push({ kind: "session", id });
  }
  return items;
}

/** Needs you: the longest waiting first; running: by start, so that rows do not move; otherwise the newest first. */
function inSection(section: Section): (a: SessionView, b: SessionView) => number {
  return (a, b) => {
    const pins = Number(b.pinned) - Number(a.pinned);
    if (pins !== 0) return pins;
    const order =
      section === "needs"
        ? changedAt(a) - changedAt(b)
        : section === "running"
          ? b.created_at - a.created_at
          : changedAt(b) - changedAt(a);
    return order || (a.id < b.id ? -1 : 1);
  };
}

function byProject(shown: SessionView[], now: number): ListItem[] {
  const groups = new Map<string, SessionView[]>();
  for (const session of shown) {
    const project = projectOf(session);
    groups.set(project, [...(groups.get(project) ?? []), session]);
  }
  const rank = (session: SessionView) => SECTIONS.indexOf(sectionOf(session, now));
  const ordered = [...groups].map(([project, found]) => ({
    project,
    found: found.sort((a, b) => rank(a) - rank(b) || inSection(sectionOf(a, now))(a, b)),
    rank: Math.min(...found.map(rank)),
    newest: Math.max(...found.map(changedAt)),
  }));
  // Projects are sorted by name, so that they do not move with activity; only those that need attention go first.
  ordered.sort(
    (a, b) => Number(b.rank === 0) - Number(a.rank === 0) || a.project.localeCompare(b.project, "en"),
  );
  const names = projectNames(ordered.map((each) => each.project));
  return ordered.flatMap(({ project, found }): ListItem[] => [
    {
      kind: "head",
      id: `head/${project}`,
      title: names.get(project) ?? project,
      count: found.length,
      project,
    },
    ...found.map(({ id }): ListItem => ({ kind: "session", id })),
  ]);
}

/** The last part of each path; for duplicates, the last two. */
export function projectNames(paths: Iterable<string>): Map<string, string> {
  const bases = new Map<string, string[]>();
  for (const path of new Set(paths)) bases.set(baseName(path), [...(bases.get(baseName(path)) ?? []), path]);
  const names = new Map<string, string>();
  for (const [base, found] of bases) {
    for (const path of found) names.set(path, found.length > 1 ? lastTwo(path) : base);
  }
  return names;
}

function lastTwo(path: string): string {
  return path.replace(/\/+$/, "").split("/").slice(-2).join("/");
}

/** Whether two lists are equal: then nothing has to render. */
export function sameItems(a: ListItem[], b: ListItem[]): boolean {
  return (
    a.length === b.length &&
    a.every((item, position) => {
      const other = b[position];
      return (
        other !== undefined &&
        item.id === other.id &&
        (item.kind !== "head" || (other.kind === "head" && item.count === other.count))
      );
    })
  );
}
