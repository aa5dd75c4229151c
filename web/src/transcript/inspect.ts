/** The inspected call; one per page. */
import { create } from "zustand";

interface Inspected {
  sessionId: string;
  callId: string;
}

export const useInspected = create<Inspected>(() => ({ sessionId: "", callId: "" }));

export function inspect(sessionId: string, callId: string): void {
  useInspected.setState({ sessionId, callId });
}

export function closeInspector(): void {
  useInspected.setState({ sessionId: "", callId: "" });
}
