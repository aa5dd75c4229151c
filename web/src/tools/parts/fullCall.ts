/** The full texts of a cut call, loaded on demand and cached. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import { COMPLETE } from "@/state/cuts";
import type { ToolRow } from "@/state/rows";
import { fieldsOf } from "./fields";

/** Bytes of output that are loaded at once. */
export const MOST_BYTES = 1024 * 1024;

export interface FullCall {
  row: ToolRow;
  /** Characters that were cut; 0 if complete. */
  missing: number;
  state: "cut" | "loading" | "whole" | "failed";
  problem: string;
  load: () => void;
}

/** With `now` it is loaded at once, where a cut text would mislead. */
export function useFullCall(row: ToolRow, sessionId: string, now = false): FullCall {
  const [wanted, setWanted] = useState(now);
  const missing = missingCharacters(row);
  const { data, error, refetch } = useQuery({
    queryKey: ["call", sessionId, row.id, row.seq, row.settled],
    queryFn: () => loadFullCall(row, sessionId),
    enabled: wanted && missing > 0,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const load = () => {
    if (error) void refetch();
    setWanted(true);
  };
  if (missing === 0) return { row, missing, state: "whole", problem: "", load };
  if (data && wanted)
    return { row: data, missing: missingCharacters(data), state: "whole", problem: "", load };
  const state = error ? "failed" : wanted ? "loading" : "cut";
  return { row, missing, state, problem: error ? errorMessage(error) : "", load };
}

/** Characters cut from the row's texts. */
export function missingCharacters({ missing }: ToolRow): number {
  return missing.input.characters + missing.output.characters + missing.display.characters;
}

async function loadFullCall(row: ToolRow, sessionId: string): Promise<ToolRow> {
  const path = { id: sessionId, call_id: row.id };
  const [call, output] = await Promise.all([
    unwrap(api.GET("/sessions/{id}/calls/{call_id}", { params: { path } })),
    row.missing.output.characters > 0 ? loadOutput(path) : row.output,
  ]);
  const missing = {
    input: call.input ? COMPLETE : row.missing.input,
    output: COMPLETE,
    display: call.display ? COMPLETE : row.missing.display,
  };
  const input = call.input ? fieldsOf(call.input) : row.input;
  return { ...row, input, output: output ?? call.output, display: call.display ?? row.display, missing };
}

/** The output from its blob; null if there is none. */
async function loadOutput(path: { id: string; call_id: string }): Promise<string | null> {
  try {
    const headers = { range: `bytes=0-${MOST_BYTES - 1}` };
    return await unwrap(
      api.GET("/sessions/{id}/blobs/{call_id}", { params: { path }, parseAs: "text", headers }) as Promise<{
        data?: string;
      }>,
    );
  } catch {
    return null;
  }
}
