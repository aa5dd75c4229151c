/** Row navigation by keyboard. */
import { useEffect } from "react";
import { useCommand } from "@/keys/useCommand";
import type { Item } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { useUi } from "@/state/ui";
import { makeCurrent, useCurrent } from "./currentRow";
import { elementOf, goTo } from "./goTo";
import { inspect } from "./inspect";
import { savedPosition } from "./scroll/savedPositions";
import type { Virtualizer } from "./scroll/virtualizer";

/** Pixels kept visible around the current row. */
const AROUND = 48;

export function useRowKeys(transcript: Transcript, virtualizer: Virtualizer, items: readonly Item[]): void {
  useEffect(() => {
    const kept = savedPosition(transcript.id);
    makeCurrent(kept.current);
    return () => {
      kept.current = useCurrent.getState().row;
    };
  }, [transcript]);
  const some = items.length > 0;
  useCommand("row.down", () => step(virtualizer, 1), some);
  useCommand("row.up", () => step(virtualizer, -1), some);
  useCommand("row.open", () => fold(virtualizer, true), some);
  useCommand("row.close", () => fold(virtualizer, false), some);
  useCommand("row.inspect", () => inspectCurrent(transcript, virtualizer), some);
  useCommand("last.prompt", () => lastPrompt(transcript, virtualizer, items), some);
  useCommand("filter.tools", () => useUi.getState().set({ hideTools: !useUi.getState().hideTools }));
  useCommand("filter.thinking", () => useUi.getState().set({ hideThinking: !useUi.getState().hideThinking }));
}

/** The rendered rows in order, including those in expanded groups. */
function drawn(virtualizer: Virtualizer): HTMLElement[] {
  return [...(virtualizer.root?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
}

function step(virtualizer: Virtualizer, by: 1 | -1): boolean {
  const rows = drawn(virtualizer);
  const now = rows.findIndex((row) => row.dataset.row === useCurrent.getState().row);
  const next = now >= 0 ? rows[now + by] : firstSeen(virtualizer, rows, by);
  if (!next) {
    if (by === 1) virtualizer.scrollToEnd();
    return true;
  }
  makeCurrent(next.dataset.row ?? "");
  bringIntoView(virtualizer, next);
  next.focus({ preventScroll: true });
  return true;
}

function firstSeen(virtualizer: Virtualizer, rows: HTMLElement[], by: 1 | -1): HTMLElement | undefined {
  const seen = rows.filter((row) => {
    const rect = rectOf(virtualizer, row);
    return rect !== null && rect.top >= -4 && rect.bottom <= rect.room + 4;
  });
  return by === 1 ? (seen[0] ?? rows[0]) : (seen.at(-1) ?? rows.at(-1));
}

function rectOf(
  virtualizer: Virtualizer,
  row: HTMLElement,
): { top: number; bottom: number; room: number } | null {
  const line = row.closest<HTMLElement>("[data-line]");
  const seen = line ? virtualizer.visibleRect(line.dataset.line ?? "") : null;
  if (!line || !seen) return null;
  const off = row.getBoundingClientRect();
  const edge = line.getBoundingClientRect().top - seen.top;
  return { top: off.top - edge, bottom: off.bottom - edge, room: seen.room };
}

function bringIntoView(virtualizer: Virtualizer, row: HTMLElement): void {
  const rect = rectOf(virtualizer, row);
  if (!rect) return;
  const height = rect.bottom - rect.top;
  if (rect.top < AROUND) virtualizer.scrollToElement(row, AROUND);
  else if (rect.bottom > rect.room - AROUND)
    virtualizer.scrollToElement(row, Math.max(AROUND, rect.room - AROUND - height));
}

function currentElement(virtualizer: Virtualizer): HTMLElement | null {
  const { row } = useCurrent.getState();
  return row ? elementOf(virtualizer, row) : null;
}

function fold(virtualizer: Virtualizer, open: boolean): boolean {
  const toggle = currentElement(virtualizer)?.querySelector<HTMLElement>("button[aria-expanded]");
  if (!toggle) return false;
  if ((toggle.getAttribute("aria-expanded") === "true") !== open) toggle.click();
  return true;
}

function inspectCurrent(transcript: Transcript, virtualizer: Virtualizer): boolean {
  const { row } = useCurrent.getState();
  const line = virtualizer.lines[virtualizer.indexOf(row)];
  const tool = transcript.fold.tool(row) ?? transcript.fold.tool(line?.id ?? "");
  if (!tool) return false;
  inspect(transcript.id, tool.id);
  return true;
}

function lastPrompt(transcript: Transcript, virtualizer: Virtualizer, items: readonly Item[]): boolean {
  const before = virtualizer.indexOf(useCurrent.getState().row);
  const isPrompt = (item: Item | undefined) => {
    const row = transcript.row(item?.id ?? "");
    return row?.kind === "user" && row.origin === "human";
  };
  // Pressed again, it goes to the previous one.
  const from = isPrompt(items[before]) ? before : items.length;
  const rect = items.slice(0, from).findLastIndex(isPrompt);
  const found = items[rect] ?? items.findLast(isPrompt);
  if (!found) return false;
  void goTo(transcript, virtualizer, { id: found.id });
  return true;
}
