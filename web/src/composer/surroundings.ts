/** What a session's engine has around it: commands, what it can do, whether it runs in a sandbox. */
import { useQuery } from "@tanstack/react-query";
import { api, said } from "@/api/client";
import type { components } from "@/gen/api";

export type Surroundings = components["schemas"]["Surroundings"];
export type Capabilities = components["schemas"]["Capabilities"];

export function useSurroundings(id: string): Surroundings | undefined {
  return useQuery({
    queryKey: ["surroundings", id],
    queryFn: () => said(api.GET("/sessions/{id}/surroundings", { params: { path: { id } } })),
    staleTime: 60_000,
    refetchInterval: 60_000, // somebody may check out another branch
  }).data;
}
