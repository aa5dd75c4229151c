/** A menu that hangs from a button. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import type { CommandId } from "@/keys/commands";
import { keyOf, shown } from "@/keys/keymap";
import { Icon, type IconName } from "./Icon";
import { Keys } from "./Keys";

const BOX =
  "z-50 max-h-[70vh] min-w-44 max-w-[min(24rem,calc(100vw-1rem))] overflow-auto rounded-box border border-line bg-surface-1 p-1 text-chrome shadow-float";
const ITEM =
  "target flex min-h-7 items-center gap-2 rounded px-2 py-1 outline-none data-[disabled]:opacity-45 data-[highlighted]:bg-surface-3";

export function Menu({
  trigger,
  label,
  align = "end",
  children,
}: {
  trigger: ReactNode;
  label: string;
  align?: "start" | "end";
  children: ReactNode;
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className={BOX}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface ItemProps {
  icon?: IconName;
  command?: CommandId;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, command, danger = false, disabled = false, onSelect, children }: ItemProps) {
  const key = command ? keyOf(command) : "";
  return (
    <DropdownMenu.Item
      disabled={disabled}
      onSelect={onSelect}
      className={`${ITEM} ${danger ? "text-failed" : ""}`}
    >
      {icon && <Icon name={icon} />}
      <span className="min-w-0 flex-1">{children}</span>
      {key && <Keys keys={shown(key)} />}
    </DropdownMenu.Item>
  );
}

/** One of several: the chosen one has a tick, each may say in a line what it means. */
export function MenuChoice<T extends string>({
  value,
  choices,
  onChange,
}: {
  value: T;
  choices: readonly { value: T; label: string; about?: string; disabled?: boolean }[];
  onChange: (value: T) => void;
}) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
      {choices.map((choice) => (
        <DropdownMenu.RadioItem
          key={choice.value}
          value={choice.value}
          disabled={choice.disabled === true}
          className={`${ITEM} items-start`}
        >
          <span className="mt-0.5 w-4">
            <DropdownMenu.ItemIndicator>
              <Icon name="check" />
            </DropdownMenu.ItemIndicator>
          </span>
          <span className="min-w-0 flex-1">
            {choice.label}
            {choice.about && <span className="block text-small text-ink-3">{choice.about}</span>}
          </span>
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}
