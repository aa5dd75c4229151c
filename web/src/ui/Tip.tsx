/** A tip: a few words and a key, for what is pointed at or focused. It is shown by the one `Tips` of the page. */
import { cloneElement, type ReactElement } from "react";

export interface Tipped {
  "data-tip"?: string;
  "data-tip-keys"?: string;
}

/** What it is for must hand its attributes on to an element. */
export function Tip({
  words,
  keys = "",
  children,
}: {
  words: string;
  keys?: string;
  children: ReactElement;
}) {
  const tipped: Tipped = { "data-tip": words, ...(keys ? { "data-tip-keys": keys } : {}) };
  return cloneElement(children as ReactElement<Tipped>, tipped);
}
