/** All of a call whose texts came cut short: asked for when somebody wants it, and then kept. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, said, wordsOf } from "@/api/client";
import { COMPLETE } from "@/state/cuts";
import type { ToolRow } from "@/state/rows";
import { fieldsOf } from "./fields";

/** Bytes of an output that a page takes at once. */
export const MOST_BYTES = 1024 * 1024;

export interface Whole {
  row: ToolRow;
  /** Characters that are on the server only; 0 if all is here. */
  missing: number;
  state: "cut" | "loading" | "whole" | "failed";
  problem: string;
  load: () => void;
}

/** With `now` it is asked for at once: where half of it would mislead. */
export function useWhole(row: ToolRow, sessionId: string, now = false): Whole {
  const [wanted, setWanted] = useState(now);
  const missing = missingOf(row);
  const { data, error, refetch } = useQuery({
    queryKey: ["call", sessionId, row.id, row.seq, row.settled],
    queryFn: () => loadWhole(row, sessionId),
    enabled: wanted && missing > 0,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const load = () => {
    if (error) void refetch();
    setWanted(true);
  };
  if (missing === 0) return { row, missing, state: "whole", problem: "", load };
  if (data && wanted) return { row: data, missing: missingOf(data), state: "whole", problem: "", load };
  const state = error ? "failed" : wanted ? "loading" : "cut";
  return { row, missing, state, problem: error ? wordsOf(error) : "", load };
}

/** How many characters of the row's texts are on the server only. */
export function missingOf({ missing }: ToolRow): number {
  return missing.input.characters + missing.output.characters + missing.display.characters;
}

async function loadWhole(row: ToolRow, sessionId: string): Promise<ToolRow> {
  const path = { id: sessionId, call_id: row.id };
  const [call, output] = await Promise.all([
    said(api.GET("/sessions/{id}/calls/{call_id}", { params: { path } })),
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

/** The output from its file; nothing where there is none, as the tables have the rest. */
async function loadOutput(path: { id: string; call_id: string }): Promise<string | null> {
  try {
    const headers = { range: `bytes=0-${MOST_BYTES - 1}` };
    return await said(
      api.GET("/sessions/{id}/blobs/{call_id}", { params: { path }, parseAs: "text", headers }) as Promise<{
        data?: string;
      }>,
    );
  } catch {
    return null;
  }
}
