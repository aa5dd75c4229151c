/** Keyboard handling of an open menu; nothing beneath it receives these keys. */

const TYPEAHEAD_MS = 700;

export function menuItems(box: HTMLElement): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])")];
}

/** Returns a function that stops listening. */
export function handleMenuKeys(box: HTMLElement, onClose: () => void): () => void {
  let typed = "";
  let at = 0;
  const letter = (key: string, now: number): void => {
    typed = now - at > TYPEAHEAD_MS ? key : typed + key;
    at = now;
    focusByLetters(box, typed);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const writes = typed !== "" && event.timeStamp - at <= TYPEAHEAD_MS;
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" || (event.key === " " && !writes)) focusedItem(box)?.click();
    else if (event.key.length === 1) letter(event.key.toLowerCase(), event.timeStamp);
    else moveFocus(box, event.key);
  };
  // In the capture phase: a dialog below would close on Escape, too.
  window.addEventListener("keydown", onKeyDown, true);
  return () => window.removeEventListener("keydown", onKeyDown, true);
}

function focusedItem(box: HTMLElement): HTMLElement | undefined {
  return menuItems(box).find((item) => item === document.activeElement);
}

function moveFocus(box: HTMLElement, key: string): void {
  const items = menuItems(box);
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

/** Focuses the next item that starts with the typed letters; repeating one letter cycles through its matches. */
function focusByLetters(box: HTMLElement, typed: string): void {
  const items = menuItems(box);
  const now = items.indexOf(document.activeElement as HTMLElement);
  const isOne = [...typed].every((each) => each === typed[0]);
  const wanted = isOne ? (typed[0] ?? "") : typed;
  const from = isOne ? now + 1 : Math.max(0, now);
  const turned = [...items.slice(from), ...items.slice(0, from)];
  turned.find((item) => (item.textContent ?? "").trim().toLowerCase().startsWith(wanted))?.focus();
}

/** A press outside closes the menu and does nothing else. Returns a function that stops listening. */
export function closeOnOutsidePress(box: HTMLElement, onClose: () => void): () => void {
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

/** The click of a press follows right after pointerup, if at all. */
function swallowClick(): void {
  window.addEventListener("click", stop, true);
  const ended = () => {
    for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, ended, true);
    window.setTimeout(() => window.removeEventListener("click", stop, true));
  };
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, ended, true);
}
