/** The arranged session list; the same array until its order, headings or counts change. */
import { useMatch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { arrange, type ListItem, sameItems } from "./sessionOrder";

export function useSessionList(filter: string, archived: boolean): ListItem[] {
  const sessions = useApp((state) => state.sessions);
  const grouping = useUi((state) => state.grouping);
  const before = useRef<ListItem[]>([]);
  return useMemo(() => {
    const next = arrange(sessions, { grouping, filter, archived });
    if (!sameItems(before.current, next)) before.current = next;
    return before.current;
  }, [sessions, grouping, filter, archived]);
}

/** The id of the open session, or empty. */
export function useCurrentId(): string {
  return useMatch({ from: "/session/$id", shouldThrow: false })?.params.id ?? "";
}
