/** The panel of a session on a phone: a sheet over the page. */
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { Sheet } from "@/ui/Sheet";
import { SidePanel } from "./SidePanel";
import { usePanelSheet } from "./sheet";

export function PanelSheet({ session }: { session: SessionView }) {
  const open = usePanelSheet((state) => state.open);
  useCommand("panel", () => usePanelSheet.setState({ open: !open }));
  return (
    <Sheet
      bare
      open={open}
      onClose={() => usePanelSheet.setState({ open: false })}
      title="Around the session"
    >
      <div className="h-[88dvh]">
        <SidePanel session={session} />
      </div>
    </Sheet>
  );
}
