/** The row the keys act on, and the row a link or a search led to. One of each for the page. */
import { create } from "zustand";

interface Current {
  row: string;
  marked: string;
}

export const useCurrent = create<Current>(() => ({ row: "", marked: "" }));

export function makeCurrent(row: string): void {
  if (useCurrent.getState().row !== row) useCurrent.setState({ row });
}

export function mark(row: string): void {
  useCurrent.setState({ marked: row });
}
