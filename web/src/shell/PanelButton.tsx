/** Brings the right panel back where it is not to be seen. */

import { runCommand } from "@/keys/useCommand";
import { usePanelSheet } from "@/panels/sheet";
import { useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { useMiddling, useNarrow } from "@/ui/media";

export function PanelButton() {
  const panel = useUi((state) => state.panel);
  const over = usePanelSheet((state) => state.open);
  const middling = useMiddling();
  const narrow = useNarrow();
  if (narrow || (middling ? over : panel)) return null;
  return (
    <IconButton label="Show the panel" command="panel" onClick={() => runCommand("panel")}>
      <Icon name="panel" />
    </IconButton>
  );
}
