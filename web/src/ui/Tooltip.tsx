/** Tooltip: marks an element with a text and a shortcut. `TooltipHost` shows it. */
import { cloneElement, type ReactElement } from "react";

export interface TooltipAttributes {
  "data-tip"?: string;
  "data-tip-keys"?: string;
}

/** The child must pass its attributes on to an element. */
export function Tooltip({
  text,
  keys = "",
  children,
}: {
  text: string;
  keys?: string;
  children: ReactElement;
}) {
  const tipped: TooltipAttributes = { "data-tip": text, ...(keys ? { "data-tip-keys": keys } : {}) };
  return cloneElement(children as ReactElement<TooltipAttributes>, tipped);
}
