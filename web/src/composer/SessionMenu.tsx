/** What can be done with a session as a whole. */
import { useNavigate } from "@tanstack/react-router";
import type { SessionView } from "@/api/types";
import { runCommand, useCommand } from "@/keys/useCommand";
import { confirm } from "@/shell/confirm";
import { archive, configure, follow, fork, remove } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem, MenuLine } from "@/ui/Menu";
import { useStopCommands } from "./StopOrRetry";
import { isBusy, isOver } from "./standing";
import { useSurroundings } from "./surroundings";

const FORMATS = [
  { format: "md", label: "Export as Markdown" },
  { format: "json", label: "Export as JSON" },
  { format: "jsonl", label: "Export the log (JSON lines)" },
] as const;

function download(id: string, format: string): void {
  const link = document.createElement("a");
  link.href = `/api/v1/sessions/${encodeURIComponent(id)}/export?format=${format}`;
  link.download = "";
  link.click();
}

export function SessionMenu({ session }: { session: SessionView }) {
  const allowed = useApp((state) => may(state.me, "operate"));
  const { capabilities } = useSurroundings(session.id) ?? {};
  const canFork = allowed && capabilities?.fork === true;
  const canContinue = allowed && isOver(session);
  useMenuCommands(session, canFork, canContinue);
  const run = (id: Parameters<typeof runCommand>[0]) => () => void runCommand(id);
  return (
    <Menu
      label="Session"
      trigger={
        <IconButton label="More about this session">
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
        Go on in a new session
      </MenuItem>
      <MenuItem icon="fork" disabled={!canFork} onSelect={run("fork")}>
        Fork
      </MenuItem>
      {session.parent && (
        <MenuItem icon="branch" command="parent" onSelect={run("parent")}>
          Go to the session before this one
        </MenuItem>
      )}
      <MenuLine />
      <MenuItem icon="link" onSelect={run("copy.link")}>
        Copy a link
      </MenuItem>
      {FORMATS.map(({ format, label }) => (
        <MenuItem key={format} icon="down" onSelect={() => download(session.id, format)}>
          {label}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem icon="archive" disabled={!allowed} onSelect={run("archive")}>
        {session.archived ? "Take out of the archive" : "Archive"}
      </MenuItem>
      <MenuItem icon="trash" danger disabled={!allowed || isBusy(session)} onSelect={run("delete")}>
        Delete
      </MenuItem>
    </Menu>
  );
}

function useMenuCommands(session: SessionView, canFork: boolean, canContinue: boolean): void {
  const allowed = useApp((state) => may(state.me, "operate"));
  const navigate = useNavigate();
  const go = (id: string | undefined) => id && void navigate({ to: "/session/$id", params: { id } });
  useStopCommands(session);
  useCommand("pin", () => void configure(session.id, { pinned: !session.pinned }), allowed);
  useCommand("archive", () => void archive(session), allowed);
  useCommand("copy.link", () => void copy(`${location.origin}/session/${session.id}`, "The link is copied"));
  useCommand("export", () => download(session.id, "md"));
  useCommand("parent", () => go(session.parent), Boolean(session.parent));
  useCommand("fork", async () => go((await fork(session.id, ""))?.id), canFork);
  useCommand("continue", async () => go((await follow(session.id, ""))?.id), canContinue);
  useCommand(
    "delete",
    async () => (await deleted(session)) && void navigate({ to: "/" }),
    allowed && !isBusy(session),
  );
}

async function deleted(session: SessionView): Promise<boolean> {
  const sure = await confirm({
    title: `Delete “${session.title || "this session"}”?`,
    words:
      "It leaves all lists. Its log goes to the trash of the server's folder; files it changed stay as they are.",
    action: "Delete",
    danger: true,
  });
  return sure && (await remove(session.id));
}
