/** Who asks for what, in words. */
import type { InteractionOpened, InteractionView } from "@/api/types";
import type { Fold } from "@/state/fold";

/** The sub-agent a request comes from, by what it was sent to do; empty for the agent itself (FM-37). */
export function askerOf(fold: Fold, interaction: InteractionView): string {
  const parent = fold.tool(fold.tool(interaction.call_id)?.parentCall ?? "");
  const { description, subagent_type } = parent?.input ?? {};
  const name = typeof subagent_type === "string" ? subagent_type : interaction.agent || "";
  const task = typeof description === "string" ? description : "";
  return task ? `${name || "Sub-agent"}: ${task}` : name;
}

/** Why somebody is asked; empty where it says no more than the file, which stands below it anyway. */
export function reasonOf({ kind, reason = "", call }: InteractionOpened): string {
  if (kind !== "permission") return "";
  return reason === `${call.name} would change ${String(call.input.file_path)}.` ? "" : reason;
}

const VERBS: Record<string, string> = {
  Bash: "wants to run a command",
  Edit: "wants to change a file",
  Write: "wants to write a file",
  NotebookEdit: "wants to change a notebook",
  Read: "wants to read",
  WebFetch: "wants to open an address",
  WebSearch: "wants to search the web",
};

export function askedWords(opened: InteractionOpened): string {
  if (opened.kind === "question") return "The agent asks you";
  if (opened.kind === "plan") return "The agent has a plan";
  const { name } = opened.call;
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name);
  return mcp ? `${mcp[2]} of ${mcp[1]} wants to run` : `${name} ${VERBS[name] ?? "wants to run"}`;
}
