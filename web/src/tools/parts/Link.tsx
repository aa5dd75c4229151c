/** An untrusted URL: a link only if it is http(s) or mailto, and always shown in full. */
import type { ReactNode } from "react";
import { safeHref } from "@/text/links";
import { VisibleText } from "@/ui/VisibleText";

export function Link({ address, children }: { address: string; children?: ReactNode }) {
  const content = children ?? <VisibleText text={address} />;
  const href = safeHref(address);
  if (!href) return <span className="wrap-anywhere">{content}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      className="wrap-anywhere text-accent underline-offset-2 hover:underline"
    >
      {content}
    </a>
  );
}
