/** Menu to allow a call always: shows the rule, where it is stored and how long it holds. */
import type { InteractionOpened } from "@/api/types";
import { hasScope, useApp } from "@/state/app";
import { useInventory } from "@/state/inventory";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem, MenuLabel } from "@/ui/Menu";
import { VisibleText } from "@/ui/VisibleText";
import { alwaysRuleOf } from "./alwaysRule";
import type { AnswerState } from "./useAnswer";

interface Props {
  sessionId: string;
  opened: InteractionOpened;
  disabled: boolean;
  answering: AnswerState;
}

export function AlwaysAllowMenu({ sessionId, opened, disabled, answering }: Props) {
  const trusted = useInventory(sessionId)?.trusted !== false;
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const lasting = alwaysRuleOf(opened, trusted);
  // Rules in settings files are settings: only admins may change them.
  const reaches = lasting?.reaches.filter(({ reach }) => admin || reach === "session") ?? [];
  if (!lasting || reaches.length === 0) return null;
  return (
    <Menu
      align="start"
      label="Always allow"
      trigger={
        <Button disabled={disabled} className="max-w-72">
          Allow
          <code className="min-w-0 truncate font-mono text-code">
            <VisibleText text={lasting.short} />
          </code>
          always
          <Icon name="chevronDown" size={12} />
        </Button>
      }
    >
      <MenuLabel>
        Adds rule{" "}
        <code className="font-mono break-all text-ink-1">
          <VisibleText text={lasting.stored} />
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
