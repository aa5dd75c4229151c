/** Tool views by name. Unlisted tools use the generic view. */
import { agent } from "./Agent";
import { applyPatch } from "./ApplyPatch";
import { askUserQuestion } from "./AskUserQuestion";
import { bash } from "./Bash";
import { bashOutput } from "./BashOutput";
import { edit } from "./Edit";
import { enterPlanMode } from "./EnterPlanMode";
import { exitPlanMode } from "./ExitPlanMode";
import { generic } from "./Generic";
import { glob } from "./Glob";
import { grep } from "./Grep";
import { killShell } from "./KillShell";
import { ls } from "./LS";
import { mcpView } from "./Mcp";
import { notebookEdit } from "./NotebookEdit";
import { read } from "./Read";
import { skill } from "./Skill";
import { todoWrite } from "./TodoWrite";
import type { ToolView } from "./view";
import { webFetch } from "./WebFetch";
import { webSearch } from "./WebSearch";
import { write } from "./Write";

export type { ToolView } from "./view";

/** Includes the names other engines use for the same tools. */
export const VIEWS: ReadonlyMap<string, ToolView> = new Map([
  ["Agent", agent],
  ["Task", agent],
  ["ApplyPatch", applyPatch],
  ["AskUserQuestion", askUserQuestion],
  ["Bash", bash],
  ["BashOutput", bashOutput],
  ["TaskOutput", bashOutput],
  ["Edit", edit],
  ["MultiEdit", edit],
  ["EnterPlanMode", enterPlanMode],
  ["ExitPlanMode", exitPlanMode],
  ["Glob", glob],
  ["Grep", grep],
  ["KillShell", killShell],
  ["KillBash", killShell],
  ["TaskStop", killShell],
  ["LS", ls],
  ["NotebookEdit", notebookEdit],
  ["Read", read],
  ["NotebookRead", read],
  ["Skill", skill],
  ["SlashCommand", skill],
  ["TodoWrite", todoWrite],
  ["WebFetch", webFetch],
  ["WebSearch", webSearch],
  ["Write", write],
]);

const servers = new Map<string, ToolView>();

export function viewOf(name: string): ToolView {
  const known = VIEWS.get(name);
  if (known) return known;
  if (!name.startsWith("mcp__")) return generic;
  const made = servers.get(name) ?? mcpView(name);
  servers.set(name, made);
  return made;
}
