/** Shortcuts and links that open a panel. */
import { useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import type { CommandId } from "@/keys/commands";
import { useCommand } from "@/keys/useCommand";
import type { PanelTab } from "@/state/ui";
import { showFile } from "./files/chosen";
import { openPanel } from "./panelSheet";

const KEYS: Record<PanelTab, CommandId> = {
  diff: "panel.diff",
  files: "panel.files",
  terminal: "panel.terminal",
  tasks: "panel.tasks",
  context: "panel.context",
  events: "panel.events",
};

export function PanelKeys({ sessionId }: { sessionId: string }) {
  const { file } = useSearch({ strict: false });
  useEffect(() => {
    if (!file) return;
    showFile(sessionId, file);
    openPanel("files");
  }, [sessionId, file]);
  return (
    <>
      {Object.entries(KEYS).map(([tab, command]) => (
        <PanelKey key={tab} tab={tab as PanelTab} command={command} />
      ))}
      <BackgroundKey />
    </>
  );
}

function BackgroundKey() {
  useCommand("background", () => openPanel("tasks"));
  return null;
}

function PanelKey({ tab, command }: { tab: PanelTab; command: CommandId }) {
  useCommand(command, () => openPanel(tab));
  return null;
}
