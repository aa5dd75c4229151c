/** Empty state: what will appear here, and one action. */
import type { ReactNode } from "react";

export function Empty({
  title,
  page = false,
  children,
  action,
}: {
  title: string;
  /** The only content of the page: its title is the page's heading. */
  page?: boolean;
  children?: ReactNode;
  action?: ReactNode;
}) {
  const Title = page ? "h1" : "p";
  return (
    <div className="flex h-full flex-col items-center justify-center gap-2 p-8 text-center">
      <Title className="m-0 text-chrome font-medium text-ink-1">{title}</Title>
      {children && <p className="m-0 max-w-96 text-ink-3">{children}</p>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}
