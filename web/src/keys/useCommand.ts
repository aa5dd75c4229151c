/** Says what a command does while a part of the page is there. Of several that do, the newest is asked first. */
import { useEffect, useRef } from "react";
import { BY_ID, COMMANDS, type CommandId } from "./commands";
import { keyOf, keysOf, pressed, same } from "./keymap";

interface Doing {
  id: CommandId;
  /** Returns false to let another one do it. */
  run: () => unknown;
}

const doing: Doing[] = [];

export function useCommand(id: CommandId, run: () => unknown, enabled = true): void {
  const newest = useRef(run);
  newest.current = run;
  useEffect(() => {
    if (!enabled) return;
    const entry: Doing = { id, run: () => newest.current() };
    doing.push(entry);
    return () => {
      doing.splice(doing.indexOf(entry), 1);
    };
  }, [id, enabled]);
}

export function canRun(id: CommandId): boolean {
  return doing.some((each) => each.id === id);
}

export function runCommand(id: CommandId): boolean {
  for (const each of doing.filter((one) => one.id === id).reverse()) if (each.run() !== false) return true;
  return false;
}

const SEQUENCE_MS = 900;
let begun = "";
let since = 0;

/** Listens for keys as long as the page is there. */
export function listen(): () => void {
  const heard = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    const key = pressed(event);
    if (!key) return;
    const typing = isTyping(event.target);
    const sequence = begun && event.timeStamp - since < SEQUENCE_MS ? `${begun} ${key}` : "";
    begun = "";
    for (const step of sequence ? [sequence, key] : [key]) {
      if (tryKey(step, typing, event.repeat)) {
        event.preventDefault();
        return;
      }
    }
    // Escape in the message field leaves it, and once more stops the agent; in other fields it closes them.
    const leaves = key === "escape" && isMessageField(event.target) && !event.repeat;
    if ((!typing || leaves) && !isCovered() && COMMANDS.some(({ id }) => keyOf(id).startsWith(`${key} `))) {
      begun = key;
      since = event.timeStamp;
    }
  };
  window.addEventListener("keydown", heard);
  return () => window.removeEventListener("keydown", heard);
}

/** Keys that edit a text everywhere: no command takes them from somebody who types. */
const EDITING = /^(mod|ctrl)\+(shift\+)?[acvxyz]$/;

/** Where a key that is held down means more of the same. Anywhere else it means what it meant once: nobody holds a yes. */
const REPEATING: ReadonlySet<CommandId> = new Set([
  "list.down",
  "list.up",
  "list.select.down",
  "list.select.up",
]);

function tryKey(key: string, typing: boolean, repeat: boolean): boolean {
  if (typing && EDITING.test(key)) return false;
  for (const { id } of COMMANDS) {
    if (!keysOf(id).some((each) => same(each, key))) continue;
    const command = BY_ID[id];
    const modified = /(mod|ctrl|alt)\+/.test(key);
    if (typing && !(command.typing && (modified || key === "escape escape"))) continue;
    if (!command.typing && isCovered()) continue;
    if (repeat && !REPEATING.has(id)) return canRun(id);
    if (runCommand(id)) return true;
  }
  return false;
}

/** Something lies over the page and has the keys: a question, a dialog, a menu in which letters choose. */
export function isCovered(): boolean {
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
