/** Checkboxes for scopes. */
import type { Scope } from "@/api/types";

export const SCOPES: { scope: Scope; about: string }[] = [
  { scope: "read", about: "See sessions, files and streams" },
  { scope: "approve", about: "Answer permissions, questions and plans" },
  { scope: "operate", about: "Start, steer, stop and change sessions" },
  { scope: "terminal", about: "Use a shell on the server's machine" },
  { scope: "admin", about: "Everything, and manage devices and users" },
];

interface Props {
  value: readonly Scope[];
  onChange: (scopes: Scope[]) => void;
}

export function ScopeBoxes({ value, onChange }: Props) {
  return (
    <fieldset className="m-0 border-0 p-0">
      <legend className="mb-1 p-0 font-medium text-ink-2">Permissions</legend>
      {SCOPES.map(({ scope, about }) => (
        <label key={scope} className="flex min-h-7 items-center gap-2 max-md:min-h-11">
          <input
            type="checkbox"
            checked={value.includes(scope)}
            onChange={(event) =>
              onChange(event.target.checked ? [...value, scope] : value.filter((each) => each !== scope))
            }
            className="size-3.5 accent-accent"
          />
          <span className="w-16">{scope}</span>
          <span className="text-ink-3">{about}</span>
        </label>
      ))}
    </fieldset>
  );
}
