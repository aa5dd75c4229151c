/** The palette with the sheet it lies on, loaded as one part. */
import type { RefObject } from "react";
import SheetBox from "@/ui/SheetBox";
import { Finder } from "./Finder";
import type { FinderProps } from "./FirstLetters";

interface Props extends FinderProps {
  open: boolean;
  before: RefObject<Element | null>;
}

export default function FinderSheet({ open, before, ...rest }: Props) {
  return (
    <SheetBox bare open={open} onClose={rest.onClose} before={before} title="Find anything">
      <Finder {...rest} />
    </SheetBox>
  );
}
