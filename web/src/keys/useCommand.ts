/** Registers what a command does while a component is mounted. The newest handler runs first. */
import { useEffect, useRef } from "react";
import { BY_ID, COMMANDS, type CommandId } from "./commands";
import { isSameKey, keyFromEvent, keyOf, keysOf } from "./keymap";

interface Handler {
  id: CommandId;
  /** Returns false to let an older handler run. */
  run: () => unknown;
}

const handlers: Handler[] = [];

export function useCommand(id: CommandId, run: () => unknown, enabled = true): void {
  const newest = useRef(run);
  newest.current = run;
  useEffect(() => {
    if (!enabled) return;
    const entry: Handler = { id, run: () => newest.current() };
    handlers.push(entry);
    return () => {
      handlers.splice(handlers.indexOf(entry), 1);
    };
  }, [id, enabled]);
}

export function canRun(id: CommandId): boolean {
  return handlers.some((each) => each.id === id);
}

export function runCommand(id: CommandId): boolean {
  for (const each of handlers.filter((one) => one.id === id).reverse()) if (each.run() !== false) return true;
  return false;
}

const SEQUENCE_MS = 900;
let pendingKey = "";
let pendingSince = 0;

/** Listens for shortcuts until the returned function is called. */
export function listenForKeys(): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    const key = keyFromEvent(event);
    if (!key) return;
    const typing = isTyping(event.target);
    const sequence = pendingKey && event.timeStamp - pendingSince < SEQUENCE_MS ? `${pendingKey} ${key}` : "";
    pendingKey = "";
    for (const step of sequence ? [sequence, key] : [key]) {
      if (tryKey(step, typing, event.repeat)) {
        event.preventDefault();
        return;
      }
    }
    // The first Escape in the message field leaves it, the second stops the agent; in other fields Escape closes them.
    const leaves = key === "escape" && isMessageField(event.target) && !event.repeat;
    if (
      (!typing || leaves) &&
      !isOverlayOpen() &&
      COMMANDS.some(({ id }) => keyOf(id).startsWith(`${key} `))
    ) {
      pendingKey = key;
      pendingSince = event.timeStamp;
    }
  };
  window.addEventListener("keydown", onKeyDown);
  return () => window.removeEventListener("keydown", onKeyDown);
}

/** Standard editing keys: no command overrides them while typing. */
const EDITING = /^(mod|ctrl)\+(shift\+)?[acvxyz]$/;

/** Commands that repeat while the key is held. All others run once: holding a key must not approve twice. */
const REPEATING: ReadonlySet<CommandId> = new Set([
  "list.down",
  "list.up",
  "list.select.down",
  "list.select.up",
]);

function tryKey(key: string, typing: boolean, repeat: boolean): boolean {
  if (typing && EDITING.test(key)) return false;
  for (const { id } of COMMANDS) {
    if (!keysOf(id).some((each) => isSameKey(each, key))) continue;
    const command = BY_ID[id];
    const modified = /(mod|ctrl|alt)\+/.test(key);
    if (typing && !(command.typing && (modified || key === "escape escape"))) continue;
    if (!command.typing && isOverlayOpen()) continue;
    if (repeat && !REPEATING.has(id)) return canRun(id);
    if (runCommand(id)) return true;
  }
  return false;
}

/** Whether a dialog or a menu is open, which then handles the keys. */
export function isOverlayOpen(): boolean {
  return document.querySelector("[role=dialog]:not([data-keys]), [role=alertdialog], [role=menu]") !== null;
}

function isMessageField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("[data-message]");
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (
    target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
    return true;
  if (target instanceof HTMLInputElement)
    return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target.closest(".xterm") !== null;
}
