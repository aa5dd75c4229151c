/** Dialog for notification settings. */
import { lazy, Suspense, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { Sheet } from "@/ui/Sheet";

const Choices = lazy(async () => ({
  default: (await import("./NotificationSettings")).NotificationSettings,
}));

export function NotificationSheet() {
  const [open, setOpen] = useState(false);
  useCommand("notify", () => setOpen(true));
  return (
    <Sheet open={open} onClose={() => setOpen(false)} title="Notifications on this device">
      <div className="p-4">
        <Suspense fallback={null}>
          <Choices />
        </Suspense>
      </div>
    </Sheet>
  );
}
