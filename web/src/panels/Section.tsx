/** A collapsible section of a panel; its state is remembered. */
import type { ReactNode } from "react";
import { useFolds } from "@/state/ui";
import { Icon } from "@/ui/Icon";

interface Props {
  title: string;
  /** A count, or another short text. */
  number?: string | number;
  /** Whether it is expanded by default. */
  open?: boolean;
  children: ReactNode;
}

export function Section({ title, number, open = true, children }: Props) {
  const id = `section/${title}`;
  const now = useFolds((state) => state.open[id]) ?? open;
  const toggle = useFolds((state) => state.toggle);
  return (
    <section aria-label={title} className="hairline-b">
      <h2 className="m-0">
        <button
          type="button"
          aria-expanded={now}
          onClick={() => toggle(id, !now)}
          className="flex h-8 w-full items-center gap-2 px-3 text-left text-small font-semibold text-ink-2 hover:text-ink-1 max-md:h-11"
        >
          <Icon name={now ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
          {title}
          {number !== undefined && <span className="tabular font-normal text-ink-3">{number}</span>}
        </button>
      </h2>
      {now && <div className="pb-2">{children}</div>}
    </section>
  );
}

/** A name and its value, on one line. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-6 items-baseline gap-3 px-3">
      <dt className="w-28 shrink-0 text-ink-3">{name}</dt>
      <dd className="tabular m-0 min-w-0 flex-1 break-words">{children}</dd>
    </div>
  );
}
