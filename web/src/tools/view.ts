/** What the page knows of a kind of tool: how a call of it is named, shown, and asked about. */
import type { ComponentType, ReactNode } from "react";
import type { ToolRow } from "@/state/rows";
import type { IconName } from "@/ui/Icon";

export interface CallProps {
  row: ToolRow;
  sessionId: string;
}

export interface AskProps {
  input: Record<string, unknown>;
  sessionId: string;
}

export interface ToolView {
  icon: IconName;
  /** The one line that stands for the call; plain text. Paths are told as seen from `cwd`, if that is given. */
  title(row: ToolRow, cwd?: string): string;
  /** More at the right of that line: +12 −3, a count. */
  inline?(row: ToolRow): ReactNode;
  /** What is under the line when it is open. */
  Body: ComponentType<CallProps>;
  /** The same with all the room there is; `Body` unless given. */
  Full?: ComponentType<CallProps>;
  /** What a person decides on, in full and as it is: nothing in it is interpreted (FM-38). */
  asks?: ComponentType<AskProps>;
}
