/** Frame of a page: a sticky title and scrolling content. */
import type { ReactNode } from "react";

interface Props {
  title: string;
  /** Controls beside the title. */
  actions?: ReactNode;
  /** Full width. */
  wide?: boolean;
  children: ReactNode;
}

export function Page({ title, actions, wide = false, children }: Props) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="hairline-b flex min-h-11 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 px-5 py-1 max-md:px-3">
        <h1 className="m-0 flex-1 truncate text-prose font-semibold">{title}</h1>
        {actions}
      </header>
      <div className="min-h-0 flex-1 overflow-auto">
        <div className={`mx-auto px-5 py-5 max-md:px-3 max-md:py-3 ${wide ? "" : "max-w-[1040px]"}`}>
          {children}
        </div>
      </div>
    </div>
  );
}
