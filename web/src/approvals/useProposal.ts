/** The changes an Edit or Write would make, compared with the current file. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, unwrap } from "@/api/client";
import type { InteractionOpened, SessionView } from "@/api/types";
import { type Proposal, proposalOf } from "./editProposal";

const FILE_TOOLS = new Set(["Edit", "MultiEdit", "Write"]);

export interface ProposalState {
  proposal: Proposal | null;
  /** False while the file is loading: the proposal is not complete. */
  ready: boolean;
}

export function useProposal(session: SessionView, opened: InteractionOpened): ProposalState {
  const { name, input } = opened.call;
  const path = FILE_TOOLS.has(name) ? relativeTo(session.cwd, input.file_path) : "";
  const { data, isPending } = useQuery({
    queryKey: ["asked-file", opened.id, path],
    queryFn: () => readFile(session.id, path),
    enabled: path !== "",
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const ready = path === "" || !isPending;
  const proposal = useMemo(
    () => (ready ? proposalOf(name, input as Record<string, unknown>, data ?? null) : null),
    [ready, name, input, data],
  );
  return { proposal: proposal && proposal.hunks.length > 0 ? proposal : null, ready };
}

/** The path relative to the session's directory; empty if it is outside. */
function relativeTo(cwd: string, path: unknown): string {
  if (typeof path !== "string" || path.split("/").includes("..")) return "";
  if (!path.startsWith("/")) return path.replace(/^\.\//, "");
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : "";
}

/** The text of a file, or null if it does not exist. Checked by folder: a request for a missing file fails. */
async function readFile(id: string, path: string): Promise<string | null> {
  const parts = path.split("/");
  for (let depth = 0; depth < parts.length; depth += 1) {
    const query = { path: parts.slice(0, depth).join("/") };
    const found = await unwrap(api.GET("/sessions/{id}/files", { params: { path: { id }, query } }));
    const entry = found.entries.find((each) => each.name === parts[depth]);
    if (!entry) return null;
  }
  const file = await unwrap(api.GET("/sessions/{id}/file", { params: { path: { id }, query: { path } } }));
  return file.kind === "text" && !file.truncated ? file.text : null;
}
