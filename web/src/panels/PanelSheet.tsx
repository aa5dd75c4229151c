/** The session panel on phones: a bottom sheet. */
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { Sheet } from "@/ui/Sheet";
import { usePanelSheet } from "./panelSheet";
import { SidePanel } from "./SidePanel";

export function PanelSheet({ session }: { session: SessionView }) {
  const open = usePanelSheet((state) => state.open);
  useCommand("panel", () => usePanelSheet.setState({ open: !open }));
  return (
    <Sheet bare open={open} onClose={() => usePanelSheet.setState({ open: false })} title="Session panel">
      <div className="h-[88dvh]">
        <SidePanel session={session} />
      </div>
    </Sheet>
  );
}
