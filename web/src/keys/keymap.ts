/** Keyboard shortcuts: the defaults and a person's own keys. */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import { BY_ID, COMMANDS, type CommandId } from "./commands";

interface Keymap {
  /** A person's own keys; an empty one removes the shortcut. */
  own: Partial<Record<CommandId, string>>;
  bind(id: CommandId, key: string): void;
  reset(id?: CommandId): void;
}

export const useKeymap = create<Keymap>()(
  persist(
    (set) => ({
      own: {},
      bind: (id, key) => set((state) => ({ own: { ...state.own, [id]: key } })),
      reset: (id) => set((state) => ({ own: id ? without(state.own, id) : {} })),
    }),
    { name: "bobstay.keys" },
  ),
);

function without(own: Keymap["own"], id: CommandId): Keymap["own"] {
  const { [id]: _, ...rest } = own;
  return rest;
}

export function keyOf(id: CommandId, own: Keymap["own"] = useKeymap.getState().own): string {
  return own[id] ?? BY_ID[id].key;
}

/** All keys of a command, the main one first. */
export function keysOf(id: CommandId, own: Keymap["own"] = useKeymap.getState().own): string[] {
  const key = keyOf(id, own);
  const { also } = BY_ID[id];
  return own[id] === undefined && also ? [key, also] : key ? [key] : [];
}

/** Commands that share a key: the later one in the list loses. */
export function keyConflicts(own: Keymap["own"]): Map<string, CommandId[]> {
  const found = new Map<string, CommandId[]>();
  for (const { id } of COMMANDS) {
    const key = keyOf(id, own);
    if (key) found.set(key, [...(found.get(key) ?? []), id]);
  }
  for (const [key, ids] of found) if (ids.length < 2) found.delete(key);
  return found;
}

const MAC = typeof navigator !== "undefined" && /Mac|iP(hone|ad)/.test(navigator.platform);
const SIGNS: Record<string, string> = MAC
  ? { mod: "⌘", ctrl: "⌃", alt: "⌥", shift: "⇧" }
  : { mod: "Ctrl", ctrl: "Ctrl", alt: "Alt", shift: "Shift" };
const NAMES: Record<string, string> = {
  enter: "⏎",
  escape: "Esc",
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
  " ": "Space",
};

/** A key as people read it: `⌘K`, `Ctrl+K`, `G S`. */
export function formatKey(key: string): string {
  return key
    .split(" ")
    .map((step) =>
      step
        .split("+")
        .map((part) => SIGNS[part] ?? NAMES[part] ?? part.toUpperCase())
        .join(MAC ? "" : "+"),
    )
    .join(" ");
}

/** The pressed key, spelled as in `COMMANDS`. */
export function keyFromEvent(event: KeyboardEvent): string {
  const name = NAME[event.key] ?? event.key.toLowerCase();
  if (["control", "shift", "alt", "meta"].includes(name)) return "";
  const parts: string[] = [];
  const mod = MAC ? event.metaKey : event.ctrlKey;
  if (mod) parts.push("mod");
  if (MAC && event.ctrlKey) parts.push("ctrl");
  if (event.altKey) parts.push("alt");
  const letter = /^[a-z]$/.test(name) || name.length > 1;
  if (event.shiftKey && letter) parts.push("shift");
  return [
    ...parts,
    event.altKey && /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : name,
  ].join("+");
}

const NAME: Record<string, string> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  Esc: "escape",
};

/** Ctrl and `mod` are the same key where there is no ⌘. */
export function isSameKey(a: string, b: string): boolean {
  return a === b || (!MAC && a.replace("ctrl+", "mod+") === b.replace("ctrl+", "mod+"));
}
