/** Which view shows which tool. A tool that is not listed is shown by its name, its input and its output (S000-74). */
import { generic } from "./Generic";
import type { ToolView } from "./view";

export type { AskProps, CallProps, ToolView } from "./view";

const VIEWS: ReadonlyMap<string, ToolView> = new Map([]);

export function viewOf(name: string): ToolView {
  return VIEWS.get(name) ?? generic;
}
