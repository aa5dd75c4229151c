/** Sessions that are running in a directory and may write there. Pure. */
import type { SessionView } from "@/api/types";

const LIVE: ReadonlySet<SessionView["status"]> = new Set([
  "starting",
  "running",
  "waiting_input",
  "interrupting",
]);
const READS_ONLY: ReadonlySet<string> = new Set(["research", "plan", "review_plan"]);

type Working = Pick<SessionView, "id" | "status" | "cwd" | "config">;

export function writersIn<T extends Working>(sessions: readonly T[], cwd: string, home: string): T[] {
  const wanted = plain(cwd.replace(/^~(?=\/|$)/, home));
  if (!wanted.startsWith("/")) return [];
  return sessions.filter(
    (each) =>
      LIVE.has(each.status) &&
      !READS_ONLY.has(each.config.workflow ?? "chat") &&
      share(plain(each.cwd), wanted),
  );
}

function plain(path: string): string {
  return path.replace(/\/+$/, "") || "/";
}

/** Whether the directories are equal or nested. */
function share(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
