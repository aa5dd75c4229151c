/** An address that came from a stranger: a link only if it leads to the web, and always shown as it is. */
import type { ReactNode } from "react";
import { safeHref } from "@/text/links";
import { Shown } from "@/ui/Hidden";

export function Link({ address, children }: { address: string; children?: ReactNode }) {
  const words = children ?? <Shown text={address} />;
  const href = safeHref(address);
  if (!href) return <span className="wrap-anywhere">{words}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      className="wrap-anywhere text-accent underline-offset-2 hover:underline"
    >
      {words}
    </a>
  );
}
