/** Segmented control: one of a few choices, side by side. */
interface Props<T extends string> {
  label: string;
  value: T;
  choices: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}

export function SegmentedControl<T extends string>({ label, value, choices, onChange }: Props<T>) {
  return (
    <fieldset
      aria-label={label}
      className="m-0 inline-flex h-7 shrink-0 items-stretch rounded-box border-0 bg-surface-2 p-0.5 max-md:h-11"
    >
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChange(choice.value)}
          className="rounded px-2 text-small text-ink-2 hover:text-ink-1 aria-pressed:bg-surface-0 aria-pressed:text-ink-1 max-md:px-3"
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  );
}
