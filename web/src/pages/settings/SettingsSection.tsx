/** Building blocks of settings sections: title, groups, rows. */
import type { ReactNode } from "react";

export function SettingsSection({
  title,
  about,
  children,
}: {
  title: string;
  about?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section aria-label={title} className="space-y-4">
      <div>
        <h2 className="m-0 text-prose font-semibold">{title}</h2>
        {about && <p className="m-0 max-w-[70ch] text-ink-2">{about}</p>}
      </div>
      {children}
    </section>
  );
}

export function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="hairline-b m-0 pb-1 text-small font-semibold text-ink-2">{title}</h3>
      {children}
    </section>
  );
}

/** A list row with its actions. */
export function Row({ children, actions }: { children: ReactNode; actions?: ReactNode }) {
  return (
    <li className="hairline-b flex min-h-9 items-center gap-3 py-1.5">
      <div className="min-w-0 flex-1">{children}</div>
      {actions && <div className="flex shrink-0 items-center gap-1">{actions}</div>}
    </li>
  );
}

export function Rows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul aria-label={label} className="m-0 list-none p-0">
      {children}
    </ul>
  );
}

export function None({ children }: { children: ReactNode }) {
  return <p className="m-0 py-2 text-ink-3">{children}</p>;
}

export function Problem({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="m-0 text-failed">
      {children}
    </p>
  );
}
