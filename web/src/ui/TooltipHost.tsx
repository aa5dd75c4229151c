/** Shows the page's one tooltip: at once on keyboard focus, after a delay on hover. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { Kbd } from "./Kbd";
import { openPopover, popoverContainer, positionBeside } from "./popover";

const DELAY_MS = 400;
/** Within this time of the last tooltip, the next one has no delay. */
const REPEAT_MS = 300;

interface ActiveTooltip {
  element: HTMLElement;
  text: string;
  keys: string;
}

export function TooltipHost() {
  const [tip, setTip] = useState<ActiveTooltip | null>(null);
  useEffect(() => listen(setTip), []);
  return tip && createPortal(<TooltipBox tip={tip} />, popoverContainer(tip.element));
}

function TooltipBox({ tip: { element, text, keys } }: { tip: ActiveTooltip }) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!box.current) return;
    openPopover(box.current);
    const { left, top } = positionBeside(element, box.current, "above", "center");
    box.current.style.transform = `translate(${left}px, ${top}px)`;
  });
  useEffect(() => {
    const name = element.getAttribute("aria-label") ?? element.textContent;
    if (!keys && name === text) return; // screen readers would read it twice
    const own = element.getAttribute("aria-describedby");
    element.setAttribute("aria-describedby", own ? `${own} ${id}` : id);
    return () => {
      if (own) element.setAttribute("aria-describedby", own);
      else element.removeAttribute("aria-describedby");
    };
  }, [element, text, keys, id]);
  return (
    <div
      ref={box}
      id={id}
      role="tooltip"
      popover="manual"
      className="pointer-events-none fixed inset-auto top-0 left-0 m-0 w-max max-w-80 overflow-visible rounded-box border-0 bg-surface-3 px-2 py-1 text-small font-normal whitespace-normal text-ink-1 shadow-float"
    >
      <span className="flex items-center gap-2">
        {text}
        {keys && <Kbd keys={keys} />}
      </span>
    </div>
  );
}

function tippedAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
}

/** Returns a function that stops listening. */
function listen(setTip: (tip: ActiveTooltip | null) => void): () => void {
  let shown: HTMLElement | null = null;
  let pending: HTMLElement | null = null;
  let timer = 0;
  let hiddenAt = Number.NEGATIVE_INFINITY;
  const show = (element: HTMLElement): void => {
    window.clearTimeout(timer);
    pending = null;
    const { tip: text = "", tipKeys: keys = "" } = element.dataset;
    if (!element.isConnected || !(text || keys)) return;
    shown = element;
    setTip({ element, text, keys });
  };
  const hide = (): void => {
    window.clearTimeout(timer);
    pending = null;
    if (!shown) return;
    shown = null;
    setTip(null);
  };
  const listeners: { [name: string]: (event: Event) => void } = {
    pointerover: (event) => {
      const element = tippedAt(event.target);
      if (element === shown && shown?.isConnected) return;
      if (element && element === pending) return;
      if (shown) hiddenAt = event.timeStamp;
      hide();
      if (!element || (event as PointerEvent).pointerType !== "mouse") return;
      pending = element;
      timer = window.setTimeout(() => show(element), event.timeStamp - hiddenAt < REPEAT_MS ? 0 : DELAY_MS);
    },
    focusin: (event) => {
      const element = tippedAt(event.target);
      if (element === event.target && element?.matches(":focus-visible")) show(element);
      else hide();
    },
    focusout: hide,
    pointerdown: hide,
    keydown: (event) => {
      if ((event as KeyboardEvent).key === "Escape" || !shown?.isConnected) hide();
    },
    // Hide it when its element scrolls away, but not when another list scrolls.
    scroll: (event) => {
      if (shown && event.target instanceof Node && event.target.contains(shown)) hide();
    },
  };
  const away = (): void => hide();
  for (const [name, listener] of Object.entries(listeners)) document.addEventListener(name, listener, true);
  document.documentElement.addEventListener("pointerleave", away);
  return () => {
    window.clearTimeout(timer);
    for (const [name, listener] of Object.entries(listeners))
      document.removeEventListener(name, listener, true);
    document.documentElement.removeEventListener("pointerleave", away);
  };
}
