/** What lies over the page. Its parts come when the first one is opened: the page itself is there without them. */
import { lazy, type ReactNode, type RefObject, Suspense, useState } from "react";

export interface SheetProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** One sentence for those who cannot see what it is about. */
  about?: string;
  wide?: boolean;
  /** Without a head of its own: the title is only said aloud. */
  bare?: boolean;
  footer?: ReactNode;
  /** What had the focus before, where a field in it takes the focus by itself. */
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
