/** All that waits for a person, with what is asked: read from the server whenever something comes or goes. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, said } from "@/api/client";
import type { OpenItem } from "@/api/types";
import { useApp, waiting } from "@/state/app";

export interface Open {
  /** The oldest first. */
  items: OpenItem[];
  loading: boolean;
}

export function useOpenItems(): Open {
  const ids = useApp((state) =>
    waiting(state.sessions)
      .map((each) => each.interaction.id)
      .join(" "),
  );
  const asked = useQuery({
    queryKey: ["interactions", ids],
    queryFn: async () => (await said(api.GET("/interactions"))).interactions,
    enabled: ids !== "",
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY, // the key is what is open
  });
  const items = useMemo(() => {
    const open = new Set(ids.split(" "));
    const found = (asked.data ?? []).filter((each) => open.has(each.summary.id));
    return found.sort((a, b) => a.summary.opened_at - b.summary.opened_at);
  }, [asked.data, ids]);
  return { items, loading: ids !== "" && items.length === 0 && asked.isPending };
}

/** What is asked, in a few words. */
export function askedFor(item: OpenItem): string {
  if (item.opened.kind === "question") return "asks you a question";
  if (item.opened.kind === "plan") return "has a plan for you to review";
  return `wants to use ${item.opened.call.name}`;
}
