/** Palette search over sessions, commands and models; recent items come first. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useEffect, useMemo, useRef } from "react";
import { create } from "zustand";
import { persist } from "zustand/middleware";
import { shortPath } from "@/format/values";
import { formatKey, keyOf, useKeymap } from "@/keys/keymap";
import { canRun, runCommand } from "@/keys/useCommand";
import { configure } from "@/state/actions";
import { useApp, useSession } from "@/state/app";
import { useDraft } from "@/state/newSessionDraft";
import { Icon } from "@/ui/Icon";
import { Kbd } from "@/ui/Kbd";
import { StatusMark } from "@/ui/Status";
import type { PaletteProps } from "./PalettePlaceholder";
import { groupsFor, type PaletteItem } from "./paletteItems";
import { useCurrentId } from "./useSessionList";

const KEPT = 20;
/** Run the command after the dialog has restored the focus. */
const AFTER_CLOSING = 30;

const useRecent = create<{ keys: string[] }>()(
  persist(() => ({ keys: [] as string[] }), { name: "bobstay.palette" }),
);

function remember(key: string): void {
  useRecent.setState(({ keys }) => ({ keys: [key, ...keys.filter((each) => each !== key)].slice(0, KEPT) }));
}

export function PaletteSearch({ finding, onFind, onClose }: PaletteProps) {
  const { query, entered } = finding;
  const sessions = useApp((state) => state.sessions);
  const config = useApp((state) => state.config);
  const here = useSession(useCurrentId());
  const recent = useRecent((state) => state.keys);
  const navigate = useNavigate();
  const groups = useMemo(
    () => groupsFor(query, { sessions, config, canRun, recent, here }),
    [query, sessions, config, recent, here],
  );
  const run = (item: PaletteItem) => {
    remember(item.key);
    onClose();
    window.setTimeout(() => {
      if (item.kind === "command") runCommand(item.command);
      else if (item.kind === "session")
        void navigate({ to: "/session/$id", params: { id: item.session.id } });
      else if (here) void configure(here.id, { model: item.model });
      else {
        useDraft.getState().set({ model: item.model });
        void navigate({ to: "/new" });
      }
    }, AFTER_CLOSING);
  };
  const first = groups[0]?.items[0];
  const runFirst = useRef(() => first && run(first));
  useEffect(() => {
    if (entered) runFirst.current();
  }, [entered]);
  return (
    <Command shouldFilter={false} loop label="Search or run a command">
      <div className="hairline-b flex items-center gap-2 px-4">
        <Icon name="search" className="text-ink-3" />
        <Command.Input
          autoFocus
          value={query}
          onValueChange={(query) => onFind({ query, entered: false })}
          placeholder="Search sessions, commands and models"
          className="h-12 min-w-0 flex-1 bg-transparent text-prose outline-none placeholder:text-ink-3"
        />
      </div>
      <Command.List className="max-h-[min(440px,60vh)] overflow-y-auto p-2">
        <Command.Empty className="px-2 py-6 text-center text-ink-3">
          No matches. Use Search to find text in sessions.
        </Command.Empty>
        {groups.map((group) => (
          <Command.Group
            key={group.title}
            heading={group.title}
            className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-[11px] [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:tracking-wide [&_[cmdk-group-heading]]:text-ink-3 [&_[cmdk-group-heading]]:uppercase"
          >
            {group.items.map((item) => (
              <Command.Item
                key={item.key}
                value={item.key}
                onSelect={() => run(item)}
                className="target flex min-h-8 items-center gap-2 rounded-box px-2 data-[selected=true]:bg-surface-3"
              >
                <Line item={item} />
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command>
  );
}

function Line({ item }: { item: PaletteItem }) {
  const own = useKeymap((state) => state.own);
  const home = useApp((state) => state.config?.home ?? "");
  const key = item.kind === "command" ? keyOf(item.command, own) : "";
  return (
    <>
      {item.kind === "session" ? (
        <StatusMark session={item.session} />
      ) : (
        <Icon name={item.kind === "model" ? "robot" : "chevronRight"} size={14} className="text-ink-3" />
      )}
      <span className="min-w-0 flex-1 truncate">
        <bdi>{item.title}</bdi>
      </span>
      {item.about && (
        <span dir="rtl" className="max-w-56 truncate text-small text-ink-3">
          <bdi>{item.kind === "session" ? shortPath(item.about, home) : item.about}</bdi>
        </span>
      )}
      {key && <Kbd keys={formatKey(key)} />}
    </>
  );
}
