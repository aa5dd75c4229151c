/** Inventory of a session's engine: commands, capabilities, sandbox. */
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { components } from "@/gen/api";

export type Inventory = components["schemas"]["EngineInventory"];
export type Capabilities = components["schemas"]["Capabilities"];

export function useInventory(id: string): Inventory | undefined {
  return useQuery({
    queryKey: ["inventory", id],
    queryFn: () => unwrap(api.GET("/sessions/{id}/surroundings", { params: { path: { id } } })),
    staleTime: 60_000,
    refetchInterval: 60_000, // the branch may change
  }).data;
}
