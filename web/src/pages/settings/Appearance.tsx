/** Appearance of the page in this browser. */
import { type Theme, useUi } from "@/state/ui";
import { Button } from "@/ui/Button";
import { SegmentedControl } from "@/ui/SegmentedControl";
import { Switch } from "@/ui/Switch";
import { Group, SettingsSection } from "./SettingsSection";

const THEMES: { value: Theme; label: string }[] = [
  { value: "system", label: "System" },
  { value: "dark", label: "Dark" },
  { value: "light", label: "Light" },
];

export function Appearance() {
  const ui = useUi();
  return (
    <SettingsSection title="Appearance" about="Stored in this browser.">
      <Group title="Theme">
        <div className="pt-3">
          <SegmentedControl
            label="Theme"
            value={ui.theme}
            choices={THEMES}
            onChange={(theme) => ui.set({ theme })}
          />
        </div>
      </Group>
      <Group title="Transcript">
        <div className="space-y-3 pt-3">
          <Switch
            label="Show tool calls"
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
            label="Side-by-side diffs"
            about="If the panel is wide enough."
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
            Reset column widths
          </Button>
        </div>
      </Group>
    </SettingsSection>
  );
}
