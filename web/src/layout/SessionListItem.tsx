/** A session in the list: status, title, time. */
import { Link } from "@tanstack/react-router";
import { type MouseEvent, memo } from "react";
import { oneLine } from "@/format/invisible";
import { baseName, money } from "@/format/values";
import { useSession } from "@/state/app";
import { isUnread, useSeen } from "@/state/unread";
import { Icon } from "@/ui/Icon";
import { StatusMark } from "@/ui/Status";
import { RelativeTime } from "./RelativeTime";
import { changedAt, projectOf, titleOf } from "./sessionOrder";

interface Props {
  id: string;
  current: boolean;
  cursor: boolean;
  chosen: boolean;
  withProject: boolean;
  onPick: (id: string, event: MouseEvent) => void;
}

export const SessionListItem = memo(function SessionLine(props: Props) {
  const { id, current, cursor, chosen, withProject, onPick } = props;
  const session = useSession(id);
  const unread = useSeen((seen) => session !== undefined && !current && isUnread(session, seen));
  if (!session) return null;
  const title = titleOf(session);
  const project = projectOf(session);
  const tasks = session.tasks_total > 0 ? `${session.tasks_done}/${session.tasks_total}` : "";
  const look = chosen
    ? "bg-accent-soft"
    : current
      ? "bg-surface-3"
      : cursor
        ? "bg-surface-2"
        : "hover:bg-surface-2";
  return (
    <Link
      to="/session/$id"
      params={{ id }}
      aria-current={current ? "page" : undefined}
      title={`${title}\n${oneLine(session.cwd)}`}
      onClick={(event) => onPick(id, event)}
      className={`group flex h-full items-center gap-1.5 rounded-box px-2 text-ink-1 no-underline ${look} ${cursor ? "ring-1 ring-line-strong ring-inset" : ""}`}
    >
      <StatusMark session={session} />
      <span
        className={`min-w-0 flex-1 truncate ${unread || session.status === "waiting_input" ? "font-medium" : ""}`}
      >
        <bdi>{title}</bdi>
      </span>
      {unread && (
        <span title="Finished since you last looked" className="size-1.5 shrink-0 rounded-full bg-accent">
          <span className="sr-only">Unread</span>
        </span>
      )}
      {session.pinned && <Icon name="pin" size={12} className="text-ink-3" />}
      {withProject && (
        <span className="max-w-24 shrink-0 truncate text-small text-ink-3 group-hover:hidden">
          <bdi>{oneLine(baseName(project))}</bdi>
        </span>
      )}
      <span className="tabular hidden shrink-0 gap-2 text-small text-ink-2 group-hover:flex">
        {tasks && <span title="Tasks done">{tasks}</span>}
        <span>{money(session.cost)}</span>
      </span>
      <RelativeTime at={changedAt(session)} className="min-w-7 shrink-0 text-right text-small text-ink-3" />
    </Link>
  );
});
