/** Form field: label above, description or problem below. */
import { type ReactNode, useId } from "react";

interface Given {
  id: string;
  "aria-invalid"?: true;
  "aria-describedby"?: string;
}

interface Props {
  label: string;
  /** What the choice means. */
  about?: ReactNode;
  problem?: string | undefined;
  className?: string;
  children: (given: Given) => ReactNode;
}

export const INPUT =
  "target h-8 w-full min-w-0 rounded-box border border-line-strong bg-surface-1 px-2 text-ink-1 placeholder:text-ink-3 aria-invalid:border-failed";

export function Field({ label, about, problem = "", className = "", children }: Props) {
  const id = useId();
  const below = `${id}-below`;
  const described = Boolean(problem || about);
  return (
    <div className={`min-w-0 ${className}`}>
      <label htmlFor={id} className="mb-1 block font-medium text-ink-2">
        {label}
      </label>
      {children({
        id,
        ...(problem ? { "aria-invalid": true } : {}),
        ...(described ? { "aria-describedby": below } : {}),
      })}
      {described && (
        <p
          id={below}
          role={problem ? "alert" : undefined}
          className={`m-0 mt-1 text-small ${problem ? "text-failed" : "text-ink-3"}`}
        >
          {problem || about}
        </p>
      )}
    </div>
  );
}
