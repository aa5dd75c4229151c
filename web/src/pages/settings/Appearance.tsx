/** How the page looks on this device. */
import { type Theme, useUi } from "@/state/ui";
import { Button } from "@/ui/Button";
import { Segments } from "@/ui/Segments";
import { Switch } from "@/ui/Switch";
import { Group, Part } from "./Part";

const THEMES: { value: Theme; label: string }[] = [
  { value: "system", label: "As the system" },
  { value: "dark", label: "Dark" },
  { value: "light", label: "Light" },
];

export function Appearance() {
  const ui = useUi();
  return (
    <Part title="Appearance" about="Kept in this browser.">
      <Group title="Theme">
        <div className="pt-3">
          <Segments label="Theme" value={ui.theme} choices={THEMES} onChange={(theme) => ui.set({ theme })} />
        </div>
      </Group>
      <Group title="Transcript">
        <div className="space-y-3 pt-3">
          <Switch
            label="Show calls of tools"
            checked={!ui.hideTools}
            onChange={(show) => ui.set({ hideTools: !show })}
          />
          <Switch
            label="Show thinking"
            checked={!ui.hideThinking}
            onChange={(show) => ui.set({ hideThinking: !show })}
          />
        </div>
      </Group>
      <Group title="Changes">
        <div className="pt-3">
          <Switch
            label="Before and after side by side"
            about="Where there is room for it."
            checked={ui.diffSplit}
            onChange={(diffSplit) => ui.set({ diffSplit })}
          />
        </div>
      </Group>
      <Group title="Columns">
        <div className="pt-3">
          <Button
            onClick={() =>
              ui.set({ sidebar: true, panel: true, panelWide: false, sidebarWidth: 272, panelWidth: 420 })
            }
          >
            Put the columns back
          </Button>
        </div>
      </Group>
    </Part>
  );
}
