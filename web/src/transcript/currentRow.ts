/** The current row for the keys, and the row a link or search points to. One of each per page. */
import { create } from "zustand";

interface Current {
  row: string;
  marked: string;
}

export const useCurrent = create<Current>(() => ({ row: "", marked: "" }));

export function makeCurrent(row: string): void {
  if (useCurrent.getState().row !== row) useCurrent.setState({ row });
}

export function highlightRow(row: string): void {
  useCurrent.setState({ marked: row });
}
