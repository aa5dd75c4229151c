/** Words of Markdown within a block. HTML is shown as it was written. */
import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { Icon } from "@/ui/Icon";
import { decoded } from "./entities";
import { hostOf, safeHref } from "./links";

export function Inline({ tokens }: { tokens: Token[] }): ReactNode {
  let at = 0;
  return tokens.map((token) => {
    const key = at;
    at += token.raw.length || 1;
    return <One key={key} token={token} />;
  });
}

function One({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "text":
      return token.tokens ? <Inline tokens={token.tokens} /> : decoded(token.text as string);
    case "escape":
      return decoded(token.text as string);
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
      return <Picture token={token as Tokens.Image} />;
    case "checkbox":
      return null;
    default:
      return token.raw;
  }
}

function Link({ token }: { token: Tokens.Link }) {
  const href = safeHref(decoded(token.href));
  const words = <Inline tokens={token.tokens} />;
  if (!href) return <span title={token.href}>{words}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener"
      title={href}
      className="text-accent underline decoration-accent/40 underline-offset-2 hover:decoration-accent"
    >
      {words}
    </a>
  );
}

/** A picture from elsewhere is not fetched by the page: whoever wants to see it opens it, and sees from where (FM-50). */
function Picture({ token }: { token: Tokens.Image }) {
  const href = safeHref(decoded(token.href));
  const words = token.text || "image";
  const look =
    "inline-flex items-center align-middle gap-1.5 rounded-box bg-surface-2 px-2 py-0.5 text-chrome text-ink-2";
  if (!href)
    return (
      <span className={look}>
        <Icon name="image" /> {words}
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
      <Icon name="image" /> {words}
      <span className="text-ink-3">not loaded, opens {hostOf(href)}</span>
    </a>
  );
}
