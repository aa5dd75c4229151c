/** Button that shows the hidden right panel. */
import { runCommand } from "@/keys/useCommand";
import { useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { useMedium, useNarrow } from "@/ui/media";
import { usePanelSheet } from "./panelSheet";

export function PanelButton() {
  const panel = useUi((state) => state.panel);
  const over = usePanelSheet((state) => state.open);
  const middling = useMedium();
  const narrow = useNarrow();
  if (narrow || (middling ? over : panel)) return null;
  return (
    <IconButton label="Show panel" command="panel" onClick={() => runCommand("panel")}>
      <Icon name="panel" />
    </IconButton>
  );
}
