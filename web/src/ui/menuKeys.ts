/** The keys of an open menu: it has them all, and nothing beneath it hears them. */

const FORGET_MS = 700;

export function itemsOf(box: HTMLElement): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])")];
}

/** Returns what ends it. */
export function takeKeys(box: HTMLElement, onClose: () => void): () => void {
  let typed = "";
  let at = 0;
  const letter = (key: string, now: number): void => {
    typed = now - at > FORGET_MS ? key : typed + key;
    at = now;
    goByLetters(box, typed);
  };
  const heard = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const writes = typed !== "" && event.timeStamp - at <= FORGET_MS;
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" || (event.key === " " && !writes)) currentOf(box)?.click();
    else if (event.key.length === 1) letter(event.key.toLowerCase(), event.timeStamp);
    else go(box, event.key);
  };
  // Before everybody else: a dialog below closes with Escape, too.
  window.addEventListener("keydown", heard, true);
  return () => window.removeEventListener("keydown", heard, true);
}

function currentOf(box: HTMLElement): HTMLElement | undefined {
  return itemsOf(box).find((item) => item === document.activeElement);
}

function go(box: HTMLElement, key: string): void {
  const items = itemsOf(box);
  const now = items.indexOf(document.activeElement as HTMLElement);
  const to = {
    ArrowDown: Math.min(now + 1, items.length - 1),
    ArrowUp: now < 0 ? items.length - 1 : Math.max(0, now - 1),
    Home: 0,
    PageUp: 0,
    End: items.length - 1,
    PageDown: items.length - 1,
  }[key];
  if (to !== undefined) items[to]?.focus();
}

/** To the next whose words begin so; one letter again and again goes through all that do. */
function goByLetters(box: HTMLElement, typed: string): void {
  const items = itemsOf(box);
  const now = items.indexOf(document.activeElement as HTMLElement);
  const isOne = [...typed].every((each) => each === typed[0]);
  const wanted = isOne ? (typed[0] ?? "") : typed;
  const from = isOne ? now + 1 : Math.max(0, now);
  const turned = [...items.slice(from), ...items.slice(0, from)];
  turned.find((item) => (item.textContent ?? "").trim().toLowerCase().startsWith(wanted))?.focus();
}

/** A press beside the menu closes it and does nothing else. Returns what ends it. */
export function takePresses(box: HTMLElement, onClose: () => void): () => void {
  const pressed = (event: PointerEvent): void => {
    if (event.target instanceof Node && box.contains(event.target)) return;
    stop(event);
    swallowClick();
    onClose();
  };
  window.addEventListener("pointerdown", pressed, true);
  return () => window.removeEventListener("pointerdown", pressed, true);
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** The click that ends a press comes right after the pointer is up, if at all. */
function swallowClick(): void {
  window.addEventListener("click", stop, true);
  const ended = () => {
    for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, ended, true);
    window.setTimeout(() => window.removeEventListener("click", stop, true));
  };
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, ended, true);
}
