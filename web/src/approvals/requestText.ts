/** Titles and reasons of approval requests. */
import type { InteractionOpened, InteractionView } from "@/api/types";
import type { Fold } from "@/state/fold";
import { elicitationOf, isElicitation } from "./elicitation";

/** The sub-agent a request comes from, with its task; empty for the main agent. */
export function requesterOf(fold: Fold, interaction: InteractionView): string {
  if (interaction.agent_name) return interaction.agent_name;
  const parent = fold.tool(fold.tool(interaction.call_id)?.parentCall ?? "");
  const { description, subagent_type } = parent?.input ?? {};
  const name = typeof subagent_type === "string" ? subagent_type : interaction.agent || "";
  const task = typeof description === "string" ? description : "";
  return task ? `${name || "Sub-agent"}: ${task}` : name;
}

/** Why approval is needed; empty if it only repeats the file, which is shown below. */
export function requestReason({ kind, reason = "", call }: InteractionOpened): string {
  if (kind !== "permission") return "";
  return reason === `${call.name} would change ${String(call.input.file_path)}.` ? "" : reason;
}

const TITLES: Record<string, string> = {
  Bash: "Run this command?",
  Edit: "Edit this file?",
  MultiEdit: "Edit this file?",
  Write: "Write this file?",
  NotebookEdit: "Edit this notebook?",
  Read: "Read this file?",
  WebFetch: "Fetch this URL?",
  WebSearch: "Search the web?",
};

export function requestTitle(opened: InteractionOpened): string {
  if (isElicitation(opened.call)) return `${elicitationOf(opened.call.input).server || "An MCP server"} asks`;
  if (opened.kind === "question") return "Question";
  if (opened.kind === "plan") return "Plan ready for review";
  const { name } = opened.call;
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name);
  return mcp ? `Run ${mcp[2]} of ${mcp[1]}?` : (TITLES[name] ?? `Run ${name}?`);
}
