/** Prompt history: Up in an empty composer brings back earlier prompts. */
import { type KeyboardEvent, type RefObject, useRef } from "react";
import { updateDraft } from "@/state/drafts";
import type { Row } from "@/state/rows";
import { transcriptOf } from "@/stream/connection";

/** Prompts of people, the newest first, without duplicates. */
export function promptsOf(rows: Iterable<Row>): string[] {
  const found = new Set<string>();
  for (const row of rows) {
    if (row.kind !== "user" || row.origin !== "human" || !row.text.trim()) continue;
    found.delete(row.text); // repeated: the newest position counts
    found.add(row.text);
  }
  return [...found].reverse();
}

export function usePromptHistory(id: string, field: RefObject<HTMLTextAreaElement | null>) {
  const position = useRef(-1);
  const show = (text: string) => {
    updateDraft(id, { text });
    const area = field.current;
    if (!area) return;
    area.value = text;
    area.setSelectionRange(text.length, text.length);
  };
  const keyDown = (event: KeyboardEvent): boolean => {
    const area = field.current;
    if (!area || event.shiftKey || event.altKey || event.metaKey || event.ctrlKey) return false;
    const begins = event.key === "ArrowUp" && area.value === "";
    const goesOn = position.current >= 0 && (event.key === "ArrowUp" || event.key === "ArrowDown");
    if (!begins && !goesOn) return false;
    const prompts = promptsOf(transcriptOf(id).fold.rows.values());
    const next = begins ? 0 : position.current + (event.key === "ArrowUp" ? 1 : -1);
    if (next >= prompts.length) return goesOn; // the oldest stays
    position.current = next;
    show(prompts[next] ?? "");
    event.preventDefault();
    return true;
  };
  return {
    keyDown,
    reset: () => {
      position.current = -1;
    },
  };
}
