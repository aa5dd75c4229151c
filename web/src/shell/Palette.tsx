/** Finds anything by a few letters, from anywhere. What is typed before its parts are loaded goes into its field as well. */
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { FirstLetters } from "./FirstLetters";

const FinderSheet = lazy(() => import("./FinderSheet"));

export interface Finding {
  query: string;
  /** Enter was pressed before there was anything to choose from: the first match is run once it is there. */
  entered: boolean;
}

const NOTHING: Finding = { query: "", entered: false };

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
  // Closed before its parts were there; the sheet gives the focus back itself.
  useEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    if (!open && lost && before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
  }, [open]);
  if (!wanted) return null;
  const parts = { finding, onFind: setFinding, onClose: () => setOpen(false) };
  return (
    <Suspense fallback={open && <FirstLetters {...parts} />}>
      <FinderSheet open={open} before={before} {...parts} />
    </Suspense>
  );
}
