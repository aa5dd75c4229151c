/** Select: one of several choices, each with a description. */
import { Icon } from "./Icon";
import { Menu, MenuChoice } from "./Menu";

export interface Choice<T extends string> {
  value: T;
  label: string;
  about?: string;
  disabled?: boolean;
}

interface Props<T extends string> {
  label: string;
  value: T;
  choices: readonly Choice<T>[];
  onChange: (value: T) => void;
  id?: string;
  "aria-describedby"?: string;
}

export function Select<T extends string>({ label, value, choices, onChange, ...given }: Props<T>) {
  const shown = choices.find((each) => each.value === value)?.label ?? value;
  return (
    <Menu
      label={label}
      align="start"
      trigger={
        <button
          type="button"
          {...given}
          aria-label={`${label}: ${shown}`}
          className="target flex h-8 w-full min-w-0 items-center gap-2 rounded-box border border-line-strong bg-surface-1 px-2 text-left hover:bg-surface-2"
        >
          <span className="min-w-0 flex-1 truncate">{shown}</span>
          <Icon name="chevronDown" size={14} className="text-ink-3" />
        </button>
      }
    >
      <MenuChoice value={value} choices={choices} onChange={onChange} />
    </Menu>
  );
}
