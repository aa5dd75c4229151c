/** The session list, windowed. J and K move, Enter opens, Shift selects, E archives. */
import { Link, useNavigate } from "@tanstack/react-router";
import { type MouseEvent, type ReactNode, useCallback, useEffect, useMemo, useRef } from "react";
import { useCommand } from "@/keys/useCommand";
import { useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { Icon } from "@/ui/Icon";
import { useCoarse } from "@/ui/media";
import { Heights } from "@/ui/rows/heights";
import { useRowWindow } from "@/ui/rows/useRowWindow";
import { archiveAll } from "./archiveSessions";
import { SessionListItem } from "./SessionListItem";
import { clearSelection, extendSelection, selectTo, stepFrom, useSelection } from "./selection";
import type { ListItem } from "./sessionOrder";
import { useCurrentId } from "./useSessionList";

const ROW = 30;
const HEAD = 28;
const FINGER = 46;

export function SessionList({ items, footer }: { items: ListItem[]; footer?: ReactNode }) {
  const scroller = useRef<HTMLDivElement>(null);
  const current = useCurrentId();
  const coarse = useCoarse();
  const withProject = useUi((state) => state.grouping === "state");
  const { cursor, chosen } = useSelection();
  const ids = useMemo(() => items.flatMap((item) => (item.kind === "session" ? [item.id] : [])), [items]);
  const rows = useMemo(() => {
    const heights = new Heights<ListItem>(({ kind }) => (kind === "head" ? HEAD : coarse ? FINGER : ROW));
    heights.setLines(items);
    return heights;
  }, [items, coarse]);
  const { from, to, reveal } = useRowWindow(scroller, rows);
  useEffect(() => {
    const position = items.findIndex((item) => item.id === cursor);
    if (position >= 0) reveal(position);
  }, [cursor, items, reveal]);
  useListCommands(ids, cursor || current);
  const pick = useCallback(
    (id: string, event: MouseEvent) => {
      if (event.shiftKey) {
        event.preventDefault();
        selectTo(ids, cursor || current, id);
      } else {
        clearSelection();
        useSelection.setState({ cursor: "" });
      }
    },
    [ids, cursor, current],
  );
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-2">
      <ul className="relative m-0 list-none p-0" style={{ height: rows.total() }}>
        {items.slice(from, to).map((item, index) => {
          const top = rows.top(from + index);
          return (
            <li
              key={item.id}
              className="absolute inset-x-0 top-0"
              style={{ height: rows.top(from + index + 1) - top, transform: `translateY(${top}px)` }}
            >
              {item.kind === "head" ? (
                <Head item={item} />
              ) : (
                <SessionListItem
                  id={item.id}
                  current={item.id === current}
                  cursor={item.id === cursor}
                  chosen={chosen.has(item.id)}
                  withProject={withProject}
                  onPick={pick}
                />
              )}
            </li>
          );
        })}
      </ul>
      {footer}
    </div>
  );
}

function Head({ item }: { item: ListItem & { kind: "head" } }) {
  const needs = item.id === "head/needs";
  return (
    <h2
      title={item.project || undefined}
      className={`m-0 flex h-full items-end gap-1.5 px-2 pb-1 text-[11px] leading-4 font-semibold tracking-wide ${needs ? "text-needs" : "text-ink-3"}`}
    >
      <bdi className={`truncate ${item.project ? "" : "uppercase"}`}>{item.title}</bdi>
      <span className="tabular font-normal">{item.count}</span>
      {item.project && (
        <Link
          to="/new"
          search={{ cwd: item.project }}
          aria-label={`New session in ${item.title}`}
          title="New session here"
          className="ml-auto inline-flex size-5 items-center justify-center rounded text-ink-3 hover:bg-surface-2 hover:text-ink-1"
        >
          <Icon name="plus" size={12} />
        </Link>
      )}
    </h2>
  );
}

function useListCommands(ids: string[], at: string): void {
  const navigate = useNavigate();
  const move = (by: 1 | -1) => {
    if (ids.length === 0) return false;
    useSelection.setState({ cursor: stepFrom(ids, at, by) });
    return true;
  };
  useCommand("list.down", () => move(1));
  useCommand("list.up", () => move(-1));
  useCommand("list.select.down", () => extendSelection(ids, 1, at));
  useCommand("list.select.up", () => extendSelection(ids, -1, at));
  useCommand("list.clear", () => {
    const { cursor, chosen } = useSelection.getState();
    if (!cursor && chosen.size === 0) return false;
    useSelection.setState({ cursor: "", chosen: new Set() });
    return true;
  });
  useCommand("list.open", () => {
    const { cursor } = useSelection.getState();
    // Enter on a button or link activates it instead.
    if (!cursor || document.activeElement?.closest("button, a, [role=button], summary")) return false;
    clearSelection();
    void navigate({ to: "/session/$id", params: { id: cursor } });
    return true;
  });
  useCommand("list.archive", () => {
    const { sessions } = useApp.getState();
    const { chosen, cursor } = useSelection.getState();
    // Archive the open session only if the focus is in the list: a stray key must not archive it.
    const here = document.activeElement?.closest("nav") ? at : "";
    const meant = chosen.size > 0 ? [...chosen] : [cursor || here];
    const found = meant.flatMap((id) => sessions[id] ?? []);
    if (found.length === 0) return false;
    useSelection.setState({
      cursor: chosen.size > 0 ? "" : stepAway(ids, meant[0] ?? ""),
      chosen: new Set(),
    });
    void archiveAll(found);
    return true;
  });
}

/** The next cursor position when its session leaves the list. */
function stepAway(ids: string[], id: string): string {
  const next = stepFrom(ids, id, 1);
  return next === id ? stepFrom(ids, id, -1) : next;
}
