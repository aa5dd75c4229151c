/** Says in a few words what was done, and how to undo it; or what did not work. `Toasts` shows them. */
import { create } from "zustand";

export interface Told {
  id: string;
  words: string;
  error: boolean;
  description: string;
  action: { label: string; onClick: () => void } | null;
  /** How long it stays, unless somebody is at it. */
  duration: number;
}

export interface ToastOptions {
  /** Another one with the same id takes its place. */
  id?: string | undefined;
  description?: string | undefined;
  action?: Told["action"] | undefined;
  duration?: number | undefined;
}

const STAYS_MS = 6000;
/** More than these nobody reads: the oldest go. */
const MOST = 4;

export const useToasts = create<{ told: Told[] }>(() => ({ told: [] }));

let count = 0;

function tell(words: string, error: boolean, options: ToastOptions): void {
  const { id = String(++count), description = "", action = null, duration = STAYS_MS } = options;
  const others = useToasts.getState().told.filter((each) => each.id !== id);
  useToasts.setState({
    told: [...others, { id, words, error, description, action, duration }].slice(-MOST),
  });
}

export function dismiss(id: string): void {
  useToasts.setState(({ told }) => ({ told: told.filter((each) => each.id !== id) }));
}

export const toast = Object.assign(
  (words: string, options: ToastOptions = {}) => tell(words, false, options),
  {
    error: (words: string, options: ToastOptions = {}) => tell(words, true, options),
  },
);
