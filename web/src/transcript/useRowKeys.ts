/** Keys that go from row to row: the current one is seen, and stays current when one comes back. */
import { useEffect } from "react";
import { useCommand } from "@/keys/useCommand";
import type { Item } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { useUi } from "@/state/ui";
import { makeCurrent, useCurrent } from "./current";
import { elementOf, goTo } from "./goTo";
import { inspect } from "./inspect";
import { keptOf } from "./scroll/places";
import type { Reading } from "./scroll/reading";

/** Pixels that are to be seen around the current row. */
const AROUND = 48;

export function useRowKeys(transcript: Transcript, reading: Reading, items: readonly Item[]): void {
  useEffect(() => {
    const kept = keptOf(transcript.id);
    makeCurrent(kept.current);
    return () => {
      kept.current = useCurrent.getState().row;
    };
  }, [transcript]);
  const some = items.length > 0;
  useCommand("row.down", () => step(reading, 1), some);
  useCommand("row.up", () => step(reading, -1), some);
  useCommand("row.open", () => fold(reading, true), some);
  useCommand("row.close", () => fold(reading, false), some);
  useCommand("row.inspect", () => inspectCurrent(transcript, reading), some);
  useCommand("last.prompt", () => lastPrompt(transcript, reading, items), some);
  useCommand("filter.tools", () => useUi.getState().set({ hideTools: !useUi.getState().hideTools }));
  useCommand("filter.thinking", () => useUi.getState().set({ hideThinking: !useUi.getState().hideThinking }));
}

/** The rows one can stand on, in the order they are seen: those within an open group too. */
function drawn(reading: Reading): HTMLElement[] {
  return [...(reading.root?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
}

function step(reading: Reading, by: 1 | -1): boolean {
  const rows = drawn(reading);
  const now = rows.findIndex((row) => row.dataset.row === useCurrent.getState().row);
  const next = now >= 0 ? rows[now + by] : firstSeen(reading, rows, by);
  if (!next) {
    if (by === 1) reading.toEnd();
    return true;
  }
  makeCurrent(next.dataset.row ?? "");
  bringIntoView(reading, next);
  next.focus({ preventScroll: true });
  return true;
}

function firstSeen(reading: Reading, rows: HTMLElement[], by: 1 | -1): HTMLElement | undefined {
  const seen = rows.filter((row) => {
    const place = placeOf(reading, row);
    return place !== null && place.top >= -4 && place.bottom <= place.room + 4;
  });
  return by === 1 ? (seen[0] ?? rows[0]) : (seen.at(-1) ?? rows.at(-1));
}

function placeOf(reading: Reading, row: HTMLElement): { top: number; bottom: number; room: number } | null {
  const line = row.closest<HTMLElement>("[data-line]");
  const seen = line ? reading.sees(line.dataset.line ?? "") : null;
  if (!line || !seen) return null;
  const off = row.getBoundingClientRect();
  const edge = line.getBoundingClientRect().top - seen.top;
  return { top: off.top - edge, bottom: off.bottom - edge, room: seen.room };
}

function bringIntoView(reading: Reading, row: HTMLElement): void {
  const place = placeOf(reading, row);
  if (!place) return;
  const height = place.bottom - place.top;
  if (place.top < AROUND) reading.bring(row, AROUND);
  else if (place.bottom > place.room - AROUND)
    reading.bring(row, Math.max(AROUND, place.room - AROUND - height));
}

function currentElement(reading: Reading): HTMLElement | null {
  const { row } = useCurrent.getState();
  return row ? elementOf(reading, row) : null;
}

function fold(reading: Reading, open: boolean): boolean {
  const toggle = currentElement(reading)?.querySelector<HTMLElement>("button[aria-expanded]");
  if (!toggle) return false;
  if ((toggle.getAttribute("aria-expanded") === "true") !== open) toggle.click();
  return true;
}

function inspectCurrent(transcript: Transcript, reading: Reading): boolean {
  const { row } = useCurrent.getState();
  const line = reading.lines[reading.indexOf(row)];
  const tool = transcript.fold.tool(row) ?? transcript.fold.tool(line?.id ?? "");
  if (!tool) return false;
  inspect(transcript.id, tool.id);
  return true;
}

function lastPrompt(transcript: Transcript, reading: Reading, items: readonly Item[]): boolean {
  const before = reading.indexOf(useCurrent.getState().row);
  const isPrompt = (item: Item | undefined) => {
    const row = transcript.row(item?.id ?? "");
    return row?.kind === "user" && row.origin === "human";
  };
  // Pressed again, it goes to the one before.
  const from = isPrompt(items[before]) ? before : items.length;
  const place = items.slice(0, from).findLastIndex(isPrompt);
  const found = items[place] ?? items.findLast(isPrompt);
  if (!found) return false;
  void goTo(transcript, reading, { id: found.id });
  return true;
}
