/** The list of sessions as it is arranged now: a new one only when an order, a heading or a count is another. */
import { useMatch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { arrange, type ListItem, sameItems } from "./order";

export function useListed(filter: string, archived: boolean): ListItem[] {
  const sessions = useApp((state) => state.sessions);
  const grouping = useUi((state) => state.grouping);
  const before = useRef<ListItem[]>([]);
  return useMemo(() => {
    const next = arrange(sessions, { grouping, filter, archived });
    if (!sameItems(before.current, next)) before.current = next;
    return before.current;
  }, [sessions, grouping, filter, archived]);
}

/** The session that is open, if one is. */
export function useCurrentId(): string {
  return useMatch({ from: "/session/$id", shouldThrow: false })?.params.id ?? "";
}
