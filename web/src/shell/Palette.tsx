/** Finds anything by a few letters, from anywhere. */
import { lazy, Suspense, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { Sheet } from "@/ui/Sheet";

const Finder = lazy(async () => ({ default: (await import("./Finder")).Finder }));

export function Palette() {
  const [open, setOpen] = useState(false);
  useCommand("palette", () => setOpen((before) => !before));
  return (
    <Sheet bare open={open} onClose={() => setOpen(false)} title="Find anything">
      <Suspense fallback={<div className="h-12" />}>
        <Finder onClose={() => setOpen(false)} />
      </Suspense>
    </Sheet>
  );
}
