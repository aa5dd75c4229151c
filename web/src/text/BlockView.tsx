/** Markdown blocks. All headings have the same level: the page has its own outline. */
import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { CodeBlock } from "./Code";
import { decodeEntities } from "./entities";
import { Inline } from "./Inline";

const HEADINGS: Record<number, string> = {
  1: "text-[17px] leading-6 mt-4",
  2: "text-[15px] leading-6 mt-4",
  3: "text-prose mt-3",
};

export function BlockView({ token, open = false }: { token: Token; open?: boolean }): ReactNode {
  switch (token.type) {
    case "paragraph":
      return (
        <p className="my-2 whitespace-pre-wrap">
          <Inline tokens={token.tokens ?? []} />
        </p>
      );
    case "code":
      return (
        <CodeBlock
          text={token.text as string}
          language={(token.lang as string | undefined) ?? ""}
          open={open}
        />
      );
    case "heading":
      return (
        <h2
          className={`mb-1 font-semibold first:mt-0 ${HEADINGS[token.depth as number] ?? "text-prose mt-3"}`}
        >
          <Inline tokens={token.tokens ?? []} />
        </h2>
      );
    case "list":
      return <List token={token as Tokens.List} />;
    case "blockquote":
      return (
        <blockquote className="my-2 border-l-2 border-line-strong pl-3 text-ink-2">
          <Blocks tokens={token.tokens ?? []} />
        </blockquote>
      );
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "hr":
      return <hr className="my-3 border-0 border-t border-line" />;
    case "text":
      return token.tokens ? <Inline tokens={token.tokens} /> : decodeEntities(token.text as string);
    case "space":
    case "def":
    case "checkbox":
      return null;
    default:
      return <p className="my-2 whitespace-pre-wrap">{token.raw.trimEnd()}</p>;
  }
}

function Blocks({ tokens }: { tokens: Token[] }) {
  let at = 0;
  return tokens.map((token) => {
    const key = at;
    at += token.raw.length;
    return <BlockView key={key} token={token} />;
  });
}

function List({ token }: { token: Tokens.List }) {
  let at = 0;
  const items = token.items.map((item) => {
    const key = at;
    at += item.raw.length;
    return (
      <li key={key} className={`pl-0.5 [&>p]:my-1 ${item.task ? "list-none" : ""}`}>
        {item.task && (
          <input
            type="checkbox"
            disabled
            checked={item.checked === true}
            aria-label={item.checked ? "Done" : "Open"}
            className="-ml-5 mr-1.5 align-middle"
          />
        )}
        <Blocks tokens={item.tokens} />
      </li>
    );
  });
  const look = "my-2 flex flex-col gap-0.5 pl-6 marker:text-ink-3";
  if (!token.ordered) return <ul className={`${look} list-disc`}>{items}</ul>;
  return (
    <ol start={token.start === "" ? 1 : token.start} className={`${look} list-decimal`}>
      {items}
    </ol>
  );
}

function Table({ token }: { token: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <figure tabIndex={0} className="my-2 overflow-x-auto">
      <table className="tabular border-collapse text-chrome">
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
              <th key={index} className={`hairline-b px-2 py-1 font-medium ${side(cell.align)}`}>
                <Inline tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are only ever added at the end
            <tr key={index} className="hairline-b">
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
                <td key={column} className={`px-2 py-1 align-top ${side(cell.align)}`}>
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function side(align: string | null): string {
  return align === "right" ? "text-right" : align === "center" ? "text-center" : "text-left";
}
