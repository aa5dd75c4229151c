/** The one tip of the page: at once for what the keyboard comes to, a moment later for what is pointed at. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { besideElement, homeOf, raise } from "./beside";
import { Keys } from "./Keys";

const AFTER_MS = 400;
/** Who goes from one to the next does not wait again. */
const STILL_MS = 300;

interface Tipping {
  element: HTMLElement;
  words: string;
  keys: string;
}

export function Tips() {
  const [tip, setTip] = useState<Tipping | null>(null);
  useEffect(() => listen(setTip), []);
  return tip && createPortal(<OneTip tip={tip} />, homeOf(tip.element));
}

function OneTip({ tip: { element, words, keys } }: { tip: Tipping }) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!box.current) return;
    raise(box.current);
    const { left, top } = besideElement(element, box.current, "above", "center");
    box.current.style.transform = `translate(${left}px, ${top}px)`;
  });
  useEffect(() => {
    const name = element.getAttribute("aria-label") ?? element.textContent;
    if (!keys && name === words) return; // it would be said twice
    const own = element.getAttribute("aria-describedby");
    element.setAttribute("aria-describedby", own ? `${own} ${id}` : id);
    return () => {
      if (own) element.setAttribute("aria-describedby", own);
      else element.removeAttribute("aria-describedby");
    };
  }, [element, words, keys, id]);
  return (
    <div
      ref={box}
      id={id}
      role="tooltip"
      popover="manual"
      className="pointer-events-none fixed inset-auto top-0 left-0 m-0 w-max max-w-80 overflow-visible rounded-box border-0 bg-surface-3 px-2 py-1 text-small font-normal whitespace-normal text-ink-1 shadow-float"
    >
      <span className="flex items-center gap-2">
        {words}
        {keys && <Keys keys={keys} />}
      </span>
    </div>
  );
}

function tippedAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
}

/** Returns what ends it. */
function listen(setTip: (tip: Tipping | null) => void): () => void {
  let shown: HTMLElement | null = null;
  let waits: HTMLElement | null = null;
  let timer = 0;
  let left = Number.NEGATIVE_INFINITY;
  const show = (element: HTMLElement): void => {
    window.clearTimeout(timer);
    waits = null;
    const { tip: words = "", tipKeys: keys = "" } = element.dataset;
    if (!element.isConnected || !(words || keys)) return;
    shown = element;
    setTip({ element, words, keys });
  };
  const hide = (): void => {
    window.clearTimeout(timer);
    waits = null;
    if (!shown) return;
    shown = null;
    setTip(null);
  };
  const heard: { [name: string]: (event: Event) => void } = {
    pointerover: (event) => {
      const element = tippedAt(event.target);
      if (element === shown && shown?.isConnected) return;
      if (element && element === waits) return;
      if (shown) left = event.timeStamp;
      hide();
      if (!element || (event as PointerEvent).pointerType !== "mouse") return;
      waits = element;
      timer = window.setTimeout(() => show(element), event.timeStamp - left < STILL_MS ? 0 : AFTER_MS);
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
    // What it is for moves away beneath it; lists elsewhere may scroll.
    scroll: (event) => {
      if (shown && event.target instanceof Node && event.target.contains(shown)) hide();
    },
  };
  const away = (): void => hide();
  for (const [name, listener] of Object.entries(heard)) document.addEventListener(name, listener, true);
  document.documentElement.addEventListener("pointerleave", away);
  return () => {
    window.clearTimeout(timer);
    for (const [name, listener] of Object.entries(heard)) document.removeEventListener(name, listener, true);
    document.documentElement.removeEventListener("pointerleave", away);
  };
}
