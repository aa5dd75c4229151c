/** The palette in its dialog, loaded as one chunk. */
import type { RefObject } from "react";
import SheetBox from "@/ui/SheetBox";
import type { PaletteProps } from "./PalettePlaceholder";
import { PaletteSearch } from "./PaletteSearch";

interface Props extends PaletteProps {
  open: boolean;
  before: RefObject<Element | null>;
}

export default function PaletteSheet({ open, before, ...rest }: Props) {
  return (
    <SheetBox bare open={open} onClose={rest.onClose} before={before} title="Search or run a command">
      <PaletteSearch {...rest} />
    </SheetBox>
  );
}
