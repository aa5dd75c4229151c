/** Inventory of a session's engine: commands, MCP servers, capabilities, sandbox. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, unwrap } from "@/api/client";
import type { SessionView } from "@/api/types";
import type { components } from "@/gen/api";
import { onFrame } from "@/stream/connection";

export type Inventory = components["schemas"]["EngineInventory"];
export type Capabilities = components["schemas"]["Capabilities"];

/** Milliseconds without a change before it is loaded again: servers connect one after the other. */
const CALM = 150;

export function useInventoryQuery(id: string) {
  return useQuery({
    queryKey: ["inventory", id],
    queryFn: () => unwrap(api.GET("/sessions/{id}/surroundings", { params: { path: { id } } })),
    staleTime: 60_000,
    refetchInterval: 60_000, // the branch may change
  });
}

export function useInventory(id: string): Inventory | undefined {
  return useInventoryQuery(id).data;
}

/** Loads it again when the agent starts or ends, and when the server reports a change. */
export function useInventoryUpdates(session: SessionView | undefined): void {
  const queries = useQueryClient();
  const id = session?.id ?? "";
  const workers = (session?.workers ?? []).map((each) => `${each.id}/${each.epoch}/${each.state}`).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: another agent has another inventory
  useEffect(() => {
    if (!id) return;
    let timer = 0;
    const again = () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void queries.invalidateQueries({ queryKey: ["inventory", id] }), CALM);
    };
    if (queries.getQueryData(["inventory", id])) again();
    const leave = onFrame((frame) => {
      if (frame.type === "inventory.changed" && frame.topic === `session:${id}`) again();
    });
    return () => {
      window.clearTimeout(timer);
      leave();
    };
  }, [id, workers, queries]);
}
