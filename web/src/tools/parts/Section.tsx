/** A part of what a call shows, with a word above it and what can be done with it beside that. */
import type { ReactNode } from "react";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";

interface Props {
  label?: ReactNode;
  /** What the copy button gives. */
  copied?: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ label, copied, actions, children }: Props) {
  return (
    <div className="min-w-0">
      {(label || copied || actions) && (
        <div className="flex min-h-7 min-w-0 items-center gap-2 text-small text-ink-3 select-none">
          <span className="min-w-0 flex-1 truncate">{label}</span>
          {actions}
          {copied && (
            <IconButton label="Copy" onClick={() => void copy(copied)}>
              <Icon name="copy" size={14} />
            </IconButton>
          )}
        </div>
      )}
      {children}
    </div>
  );
}

/** Machine text on a ground of its own. */
export function Ground({ children }: { children: ReactNode }) {
  return <div className="min-w-0 overflow-hidden rounded-box bg-surface-1 px-3 py-2">{children}</div>;
}

/** What the body of a call is made of, one under the other. */
export function Stack({ children }: { children: ReactNode }) {
  return <div className="flex min-w-0 flex-col gap-2">{children}</div>;
}
