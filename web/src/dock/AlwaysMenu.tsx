/** Allow now and from now on: says the very rule that would be stored, where, and how long it holds. */
import type { InteractionOpened } from "@/api/types";
import { useSurroundings } from "@/composer/surroundings";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Shown } from "@/ui/Hidden";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem, MenuLabel } from "@/ui/Menu";
import { lastingOf } from "./lasting";
import type { Answering } from "./useAnswer";

interface Props {
  sessionId: string;
  opened: InteractionOpened;
  disabled: boolean;
  answering: Answering;
}

export function AlwaysMenu({ sessionId, opened, disabled, answering }: Props) {
  const trusted = useSurroundings(sessionId)?.trusted !== false;
  const admin = useApp((state) => may(state.me, "admin"));
  const lasting = lastingOf(opened, trusted);
  // A rule that is kept in settings is a setting: the server takes it from admins only.
  const reaches = lasting?.reaches.filter(({ reach }) => admin || reach === "session") ?? [];
  if (!lasting || reaches.length === 0) return null;
  return (
    <Menu
      align="start"
      label="Allow from now on"
      trigger={
        <Button disabled={disabled} className="max-w-72">
          Allow
          <code className="min-w-0 truncate font-mono text-code">
            <Shown text={lasting.short} />
          </code>
          always
          <Icon name="chevronDown" size={12} />
        </Button>
      }
    >
      <MenuLabel>
        Stores{" "}
        <code className="font-mono break-all text-ink-1">
          <Shown text={lasting.stored} />
        </code>
      </MenuLabel>
      {reaches.map(({ reach, label, about }) => (
        <MenuItem key={reach} onSelect={() => void answering.answer({ decision: "allow", scope: reach })}>
          {label}
          <span className="block text-small text-ink-3">{about}</span>
        </MenuItem>
      ))}
    </Menu>
  );
}
