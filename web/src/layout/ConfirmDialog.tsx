/** Mounts the confirmation dialog when it is first needed. */
import { lazy, Suspense, useState } from "react";
import { useConfirmRequest } from "@/ui/confirm";

const Box = lazy(() => import("./ConfirmBox"));

export function ConfirmDialog() {
  const asked = useConfirmRequest((state) => state.question !== null);
  const [wanted, setWanted] = useState(asked);
  if (asked && !wanted) setWanted(true);
  return wanted ? (
    <Suspense fallback={null}>
      <Box />
    </Suspense>
  ) : null;
}
