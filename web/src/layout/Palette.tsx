/** Command palette. Text typed before its code is loaded goes into its field. */
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { PalettePlaceholder } from "./PalettePlaceholder";

const FinderSheet = lazy(() => import("./PaletteSheet"));

export interface PaletteQuery {
  query: string;
  /** Enter was pressed before the results were there: the first match runs once they are. */
  entered: boolean;
}

const NOTHING: PaletteQuery = { query: "", entered: false };

export function Palette() {
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState(false);
  const [finding, setFinding] = useState(NOTHING);
  const before = useRef<Element | null>(null);
  useCommand("palette", () => {
    if (!open) before.current = document.activeElement;
    setWanted(true);
    setFinding(NOTHING);
    setOpen(!open);
  });
  // For a palette closed before its code was loaded; the dialog restores the focus itself.
  useEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    if (!open && lost && before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
  }, [open]);
  if (!wanted) return null;
  const parts = { finding, onFind: setFinding, onClose: () => setOpen(false) };
  return (
    <Suspense fallback={open && <PalettePlaceholder {...parts} />}>
      <FinderSheet open={open} before={before} {...parts} />
    </Suspense>
  );
}
