/** Where something goes that hangs from another: at the wanted side if it fits there, and never out of the window. */

const EDGE = 8;
const GAP = 4;

export interface Size {
  width: number;
  height: number;
}

export interface Around extends Size {
  left: number;
  top: number;
}

export interface Place {
  left: number;
  top: number;
  /** No higher than this, or it does not fit. */
  room: number;
}

export function beside(
  anchor: Around,
  box: Size,
  view: Size,
  side: "above" | "below",
  align: "start" | "center" | "end",
): Place {
  const below = view.height - EDGE - (anchor.top + anchor.height + GAP);
  const above = anchor.top - GAP - EDGE;
  const [wanted, other] = side === "below" ? [below, above] : [above, below];
  const stays = box.height <= wanted || wanted >= other;
  const isBelow = (side === "below") === stays;
  const room = Math.max(0, isBelow ? below : above);
  const shift = { start: 0, center: (anchor.width - box.width) / 2, end: anchor.width - box.width }[align];
  const left = Math.max(EDGE, Math.min(anchor.left + shift, view.width - EDGE - box.width));
  const top = isBelow
    ? anchor.top + anchor.height + GAP
    : Math.max(EDGE, anchor.top - GAP - Math.min(box.height, room));
  return { left: Math.round(left), top: Math.round(top), room: Math.floor(room) };
}

export function besideElement(
  anchor: Element,
  box: HTMLElement,
  side: "above" | "below",
  align: "start" | "center" | "end",
): Place {
  const view = document.documentElement;
  const size = { width: box.offsetWidth, height: box.offsetHeight };
  return beside(
    anchor.getBoundingClientRect(),
    size,
    { width: view.clientWidth, height: view.clientHeight },
    side,
    align,
  );
}

/** What it hangs in: the dialog or the part of the page it belongs to, which keeps the focus and says where it is. */
export function homeOf(anchor: Element): Element {
  return anchor.closest("[role=dialog], [role=alertdialog], main, nav, aside") ?? document.body;
}

/** Above everything, whatever it hangs in hides or moves. */
export function raise(box: HTMLElement): void {
  if (box.showPopover && !box.matches(":popover-open")) box.showPopover();
}
