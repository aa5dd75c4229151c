/** Usage of a range of days by group. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { firstDay } from "./days";

export type Group = "day" | "model" | "project" | "tool";

export function useSpending(group: Group, days: number) {
  const from = firstDay(days, Date.now());
  return useQuery({
    queryKey: ["usage", group, from],
    queryFn: () => unwrap(api.GET("/usage", { params: { query: { group, from } } })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}
