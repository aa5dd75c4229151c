/** What was said to the session before, brought back by Up in an empty composer. */
import { type KeyboardEvent, type RefObject, useRef } from "react";
import type { Row } from "@/state/rows";
import { transcriptOf } from "@/stream/live";
import { put } from "./drafts";

/** What people said, the newest first, each once. */
export function promptsOf(rows: Iterable<Row>): string[] {
  const found = new Set<string>();
  for (const row of rows) {
    if (row.kind !== "user" || row.origin !== "human" || !row.text.trim()) continue;
    found.delete(row.text); // said again: its newest place counts
    found.add(row.text);
  }
  return [...found].reverse();
}

export function usePromptHistory(id: string, field: RefObject<HTMLTextAreaElement | null>) {
  const place = useRef(-1);
  const show = (text: string) => {
    put(id, { text });
    const area = field.current;
    if (!area) return;
    area.value = text;
    area.setSelectionRange(text.length, text.length);
  };
  const keyDown = (event: KeyboardEvent): boolean => {
    const area = field.current;
    if (!area || event.shiftKey || event.altKey || event.metaKey || event.ctrlKey) return false;
    const begins = event.key === "ArrowUp" && area.value === "";
    const goesOn = place.current >= 0 && (event.key === "ArrowUp" || event.key === "ArrowDown");
    if (!begins && !goesOn) return false;
    const prompts = promptsOf(transcriptOf(id).fold.rows.values());
    const next = begins ? 0 : place.current + (event.key === "ArrowUp" ? 1 : -1);
    if (next >= prompts.length) return goesOn; // the oldest stays
    place.current = next;
    show(prompts[next] ?? "");
    event.preventDefault();
    return true;
  };
  return {
    keyDown,
    reset: () => {
      place.current = -1;
    },
  };
}
