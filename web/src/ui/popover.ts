/** Position of a popover: at the preferred side of its anchor if it fits there, and always inside the window. */

const EDGE = 8;
const GAP = 4;

export interface Size {
  width: number;
  height: number;
}

export interface Rect extends Size {
  left: number;
  top: number;
}

export interface PopoverPosition {
  left: number;
  top: number;
  /** Available height in pixels. */
  maxHeight: number;
}

export function popoverPosition(
  anchor: Rect,
  box: Size,
  view: Size,
  side: "above" | "below",
  align: "start" | "center" | "end",
): PopoverPosition {
  const below = view.height - EDGE - (anchor.top + anchor.height + GAP);
  const above = anchor.top - GAP - EDGE;
  const [wanted, other] = side === "below" ? [below, above] : [above, below];
  const stays = box.height <= wanted || wanted >= other;
  const isBelow = (side === "below") === stays;
  const maxHeight = Math.max(0, isBelow ? below : above);
  const shift = { start: 0, center: (anchor.width - box.width) / 2, end: anchor.width - box.width }[align];
  const left = Math.max(EDGE, Math.min(anchor.left + shift, view.width - EDGE - box.width));
  const top = isBelow
    ? anchor.top + anchor.height + GAP
    : Math.max(EDGE, anchor.top - GAP - Math.min(box.height, maxHeight));
  return { left: Math.round(left), top: Math.round(top), maxHeight: Math.floor(maxHeight) };
}

export function positionBeside(
  anchor: Element,
  box: HTMLElement,
  side: "above" | "below",
  align: "start" | "center" | "end",
): PopoverPosition {
  const view = document.documentElement;
  const size = { width: box.offsetWidth, height: box.offsetHeight };
  return popoverPosition(
    anchor.getBoundingClientRect(),
    size,
    { width: view.clientWidth, height: view.clientHeight },
    side,
    align,
  );
}

/** The element a popover is mounted in: the dialog or landmark of its anchor, so that focus traps include it. */
export function popoverContainer(anchor: Element): Element {
  return anchor.closest("[role=dialog], [role=alertdialog], main, nav, aside") ?? document.body;
}

/** Puts it into the top layer, where no ancestor can clip or move it. */
export function openPopover(box: HTMLElement): void {
  if (box.showPopover && !box.matches(":popover-open")) box.showPopover();
}
