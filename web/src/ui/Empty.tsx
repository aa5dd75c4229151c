/** A place with nothing in it yet: what it will show, one thing to do. */
import type { ReactNode } from "react";

export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex h-full flex-col items-center justify-center gap-2 p-8 text-center">
      <p className="m-0 font-medium text-ink-1">{title}</p>
      {children && <p className="m-0 max-w-96 text-ink-3">{children}</p>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}
