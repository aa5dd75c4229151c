/** The view of a tool: title, body, and approval request. */
import type { ComponentType, ReactNode } from "react";
import type { ToolRow } from "@/state/rows";
import type { IconName } from "@/ui/Icon";

export interface CallProps {
  row: ToolRow;
  sessionId: string;
}

export interface RequestProps {
  input: Record<string, unknown>;
  sessionId: string;
}

export interface ToolView {
  icon: IconName;
  /** Title of the call; plain text. Paths are relative to `cwd`, if given. */
  title(row: ToolRow, cwd?: string): string;
  /** At the right of the title: +12 −3, a count. */
  inline?(row: ToolRow): ReactNode;
  /** Content when expanded. */
  Body: ComponentType<CallProps>;
  /** Content of the inspector; `Body` by default. */
  Full?: ComponentType<CallProps>;
  /** The request for approval: complete and not interpreted. */
  request?: ComponentType<RequestProps>;
}
