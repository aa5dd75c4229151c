/** Dialog. Its code is loaded when the first one is opened. */
import { lazy, type ReactNode, type RefObject, Suspense, useState } from "react";

export interface SheetProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** Description for screen readers. */
  about?: string;
  wide?: boolean;
  /** Without a visible header: the title is for screen readers only. */
  bare?: boolean;
  footer?: ReactNode;
  /** The element that had the focus before, for dialogs whose field takes the focus itself. */
  before?: RefObject<Element | null>;
  children: ReactNode;
}

const Box = lazy(() => import("./SheetBox"));

export function Sheet(props: SheetProps) {
  const [wanted, setWanted] = useState(props.open);
  if (props.open && !wanted) setWanted(true);
  if (!wanted) return null;
  return (
    <Suspense fallback={null}>
      <Box {...props} />
    </Suspense>
  );
}
