/** Menu with the actions on a session. */
import { useNavigate } from "@tanstack/react-router";
import type { SessionView } from "@/api/types";
import { useStopCommands } from "@/composer/StopOrRetry";
import { isBusy, isOver } from "@/composer/sessionStatus";
import { runCommand, useCommand } from "@/keys/useCommand";
import { archive, configure, continueSession, fork, remove } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { useInventory } from "@/state/inventory";
import { IconButton } from "@/ui/Button";
import { confirm } from "@/ui/confirm";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem, MenuSeparator } from "@/ui/Menu";

const FORMATS = [
  { format: "md", label: "Export as Markdown" },
  { format: "json", label: "Export as JSON" },
  { format: "jsonl", label: "Export log (JSONL)" },
] as const;

function download(id: string, format: string): void {
  const link = document.createElement("a");
  link.href = `/api/v1/sessions/${encodeURIComponent(id)}/export?format=${format}`;
  link.download = "";
  link.click();
}

export function SessionMenu({ session }: { session: SessionView }) {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const { capabilities } = useInventory(session.id) ?? {};
  const canFork = allowed && capabilities?.fork === true;
  const canContinue = allowed && isOver(session);
  useMenuCommands(session, canFork, canContinue);
  const run = (id: Parameters<typeof runCommand>[0]) => () => void runCommand(id);
  return (
    <Menu
      label="Session"
      trigger={
        <IconButton label="Session menu">
          <Icon name="more" />
        </IconButton>
      }
    >
      <MenuItem icon="edit" disabled={!allowed} onSelect={() => window.setTimeout(run("rename"))}>
        Rename
      </MenuItem>
      <MenuItem icon="pin" disabled={!allowed} onSelect={run("pin")}>
        {session.pinned ? "Unpin" : "Pin"}
      </MenuItem>
      <MenuItem icon="send" disabled={!canContinue} onSelect={run("continue")}>
        Continue in new session
      </MenuItem>
      <MenuItem icon="fork" disabled={!canFork} onSelect={run("fork")}>
        Fork
      </MenuItem>
      {session.parent && (
        <MenuItem icon="branch" command="parent" onSelect={run("parent")}>
          Go to parent session
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon="link" onSelect={run("copy.link")}>
        Copy link
      </MenuItem>
      {FORMATS.map(({ format, label }) => (
        <MenuItem key={format} icon="down" onSelect={() => download(session.id, format)}>
          {label}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon="archive" disabled={!allowed} onSelect={run("archive")}>
        {session.archived ? "Unarchive" : "Archive"}
      </MenuItem>
      <MenuItem icon="trash" danger disabled={!allowed || isBusy(session)} onSelect={run("delete")}>
        Delete
      </MenuItem>
    </Menu>
  );
}

function useMenuCommands(session: SessionView, canFork: boolean, canContinue: boolean): void {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const navigate = useNavigate();
  const go = (id: string | undefined) => id && void navigate({ to: "/session/$id", params: { id } });
  useStopCommands(session);
  useCommand("pin", () => void configure(session.id, { pinned: !session.pinned }), allowed);
  useCommand("archive", () => void archive(session), allowed);
  useCommand("copy.link", () => void copy(`${location.origin}/session/${session.id}`, "Link copied"));
  useCommand("export", () => download(session.id, "md"));
  useCommand("parent", () => go(session.parent), Boolean(session.parent));
  useCommand("fork", async () => go((await fork(session.id, ""))?.id), canFork);
  useCommand("continue", async () => go((await continueSession(session.id, ""))?.id), canContinue);
  useCommand(
    "delete",
    async () => (await deleted(session)) && void navigate({ to: "/" }),
    allowed && !isBusy(session),
  );
}

async function deleted(session: SessionView): Promise<boolean> {
  const sure = await confirm({
    title: `Delete “${session.title || "this session"}”?`,
    text: "The session is removed from all lists and its log is moved to the server's trash. Files it changed are kept.",
    action: "Delete",
    danger: true,
  });
  return sure && (await remove(session.id));
}
