/** Inline Markdown. HTML is shown as text. */
import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { Icon } from "@/ui/Icon";
import { decodeEntities } from "./entities";
import { hostOf, safeHref } from "./links";

export function Inline({ tokens }: { tokens: Token[] }): ReactNode {
  let at = 0;
  return tokens.map((token) => {
    const key = at;
    at += token.raw.length || 1;
    return <InlineToken key={key} token={token} />;
  });
}

function InlineToken({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "text":
      return token.tokens ? <Inline tokens={token.tokens} /> : decodeEntities(token.text as string);
    case "escape":
      return decodeEntities(token.text as string);
    case "strong":
      return (
        <strong className="font-semibold">
          <Inline tokens={token.tokens ?? []} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={token.tokens ?? []} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inline tokens={token.tokens ?? []} />
        </del>
      );
    case "codespan":
      return (
        <code className="rounded bg-surface-2 px-1 py-px font-mono text-[0.9em]">{token.text as string}</code>
      );
    case "br":
      return <br />;
    case "link":
      return <Link token={token as Tokens.Link} />;
    case "image":
      return <ImageLink token={token as Tokens.Image} />;
    case "checkbox":
      return null;
    default:
      return token.raw;
  }
}

function Link({ token }: { token: Tokens.Link }) {
  const href = safeHref(decodeEntities(token.href));
  const label = <Inline tokens={token.tokens} />;
  if (!href) return <span title={token.href}>{label}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      title={href}
      className="text-accent underline decoration-accent/40 underline-offset-2 hover:decoration-accent"
    >
      {label}
    </a>
  );
}

/** External images are not loaded: a link opens them and shows their host. */
function ImageLink({ token }: { token: Tokens.Image }) {
  const href = safeHref(decodeEntities(token.href));
  const label = token.text || "image";
  const look =
    "inline-flex items-center align-middle gap-1.5 rounded-box bg-surface-2 px-2 py-0.5 text-chrome text-ink-2";
  if (!href)
    return (
      <span className={look}>
        <Icon name="image" /> {label}
      </span>
    );
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      title={href}
      className={`${look} hover:text-ink-1`}
    >
      <Icon name="image" /> {label}
      <span className="text-ink-3">not loaded, opens {hostOf(href)}</span>
    </a>
  );
}
