/** Switch with a label and a description. */
import { Switch as Base } from "radix-ui";
import { useId } from "react";

interface Props {
  label: string;
  about?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

export function Switch({ label, about = "", checked, onChange, disabled = false }: Props) {
  const id = useId();
  return (
    <div className="flex items-start gap-2.5">
      <Base.Root
        id={id}
        checked={checked}
        disabled={disabled}
        onCheckedChange={onChange}
        aria-describedby={about ? `${id}-about` : undefined}
        className="relative mt-0.5 h-4 w-7 shrink-0 rounded-full bg-line-strong transition-colors data-[state=checked]:bg-accent disabled:opacity-45"
      >
        <Base.Thumb className="block size-3 translate-x-0.5 rounded-full bg-surface-0 transition-transform data-[state=checked]:translate-x-3.5" />
      </Base.Root>
      <div className="min-w-0">
        <label htmlFor={id}>{label}</label>
        {about && (
          <p id={`${id}-about`} className="m-0 text-small text-ink-3">
            {about}
          </p>
        )}
      </div>
    </div>
  );
}
