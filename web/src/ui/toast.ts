/** Toast messages: what was done, with an optional undo, or what failed. `Toasts` shows them. */
import { create } from "zustand";

export interface ToastItem {
  id: string;
  message: string;
  error: boolean;
  description: string;
  action: { label: string; onClick: () => void } | null;
  /** Milliseconds; paused while the toasts are hovered or focused. */
  duration: number;
}

export interface ToastOptions {
  /** A toast with the same id is replaced. */
  id?: string | undefined;
  description?: string | undefined;
  action?: ToastItem["action"] | undefined;
  duration?: number | undefined;
}

const DURATION_MS = 6000;
/** The oldest are dropped. */
const MAX_TOASTS = 4;

export const useToasts = create<{ toasts: ToastItem[] }>(() => ({ toasts: [] }));

let count = 0;

function addToast(message: string, error: boolean, options: ToastOptions): void {
  const { id = String(++count), description = "", action = null, duration = DURATION_MS } = options;
  const others = useToasts.getState().toasts.filter((each) => each.id !== id);
  useToasts.setState({
    toasts: [...others, { id, message, error, description, action, duration }].slice(-MAX_TOASTS),
  });
}

export function dismiss(id: string): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((each) => each.id !== id) }));
}

export const toast = Object.assign(
  (message: string, options: ToastOptions = {}) => addToast(message, false, options),
  {
    error: (message: string, options: ToastOptions = {}) => addToast(message, true, options),
  },
);
