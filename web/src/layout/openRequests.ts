/** All open requests in full, loaded again whenever one comes or goes. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, unwrap } from "@/api/client";
import type { OpenItem } from "@/api/types";
import { pendingInteractions, useApp } from "@/state/app";

export interface OpenRequests {
  /** The oldest first. */
  items: OpenItem[];
  loading: boolean;
}

export function useOpenRequests(): OpenRequests {
  const ids = useApp((state) =>
    pendingInteractions(state.sessions)
      .map((each) => each.interaction.id)
      .join(" "),
  );
  const asked = useQuery({
    queryKey: ["interactions", ids],
    queryFn: async () => (await unwrap(api.GET("/interactions"))).interactions,
    enabled: ids !== "",
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY, // the key contains the open requests
  });
  const items = useMemo(() => {
    const open = new Set(ids.split(" "));
    const found = (asked.data ?? []).filter((each) => open.has(each.summary.id));
    return found.sort((a, b) => a.summary.opened_at - b.summary.opened_at);
  }, [asked.data, ids]);
  return { items, loading: ids !== "" && items.length === 0 && asked.isPending };
}

/** A short description of a request. */
export function requestSummary(item: OpenItem): string {
  const { call, kind } = item.opened;
  if (call.name === "Elicitation") return `${String(call.input.mcp_server_name ?? "An MCP server")} asks`;
  if (kind === "question") return "has a question";
  if (kind === "plan") return "has a plan to review";
  const who = item.summary.agent_name;
  return `needs approval for ${call.name}${who ? `, asked by ${who},` : ""}`;
}
