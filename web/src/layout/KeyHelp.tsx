/** Keyboard shortcut help. */
import { lazy, Suspense, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { Sheet } from "@/ui/Sheet";

const KeyTable = lazy(async () => ({ default: (await import("./KeyTable")).KeyTable }));

export function KeyHelp() {
  const [open, setOpen] = useState(false);
  useCommand("help", () => setOpen(true));
  return (
    <Sheet
      wide
      open={open}
      onClose={() => setOpen(false)}
      title="Keyboard shortcuts"
      about="Shortcuts are off while you type, except those with Ctrl, Alt or ⌘."
    >
      <Suspense fallback={null}>
        <KeyTable onLeave={() => setOpen(false)} />
      </Suspense>
    </Sheet>
  );
}
