/** The place of the one question before what cannot be undone: nothing, until it is asked for the first time. */
import { lazy, Suspense, useState } from "react";
import { useQuestion } from "./confirm";

const Box = lazy(() => import("./ConfirmBox"));

export function ConfirmDialog() {
  const asked = useQuestion((state) => state.question !== null);
  const [wanted, setWanted] = useState(asked);
  if (asked && !wanted) setWanted(true);
  return wanted ? (
    <Suspense fallback={null}>
      <Box />
    </Suspense>
  ) : null;
}
