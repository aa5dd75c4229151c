/** Code with syntax highlighting. Long code renders in pieces. */
import "./text.css";
import { memo, useMemo } from "react";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";
import { type Token, useTokens } from "./highlight";
import { useInView } from "./useInView";

/** Lines per piece: unchanged pieces do not render again while the last one grows. */
const PIECE = 40;

/** The text only, for use inside a `pre`. */
export function Code({ text, language }: { text: string; language: string }) {
  const tokens = useTokens(text, language);
  return <Pieces text={text} tokens={tokens} />;
}

/** A Markdown code block with its language and a copy button. Not highlighted while it is incomplete. */
export const CodeBlock = memo(function CodeBlock({
  text,
  language,
  open,
}: {
  text: string;
  language: string;
  open: boolean;
}) {
  return (
    <figure className="group/code relative my-2 rounded-box bg-surface-1">
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        tabIndex={0}
        className="m-0 overflow-x-auto px-3 py-2.5 font-mono text-code"
      >
        <code>{open ? <Pieces text={text} tokens={null} /> : <Code text={text} language={language} />}</code>
      </pre>
      <figcaption className="absolute top-1 right-1 flex items-center gap-1 opacity-0 group-focus-within/code:opacity-100 group-hover/code:opacity-100 pointer-coarse:opacity-100">
        <span className="rounded bg-surface-1 px-1 text-small text-ink-3">{language}</span>
        <IconButton label="Copy code" className="bg-surface-2" onClick={() => void copy(text)}>
          <Icon name="copy" />
        </IconButton>
      </figcaption>
    </figure>
  );
});

function Pieces({ text, tokens }: { text: string; tokens: Token[][] | null }) {
  const pieces = useMemo(() => cut(text), [text]);
  if (pieces.length === 1) return <Piece text={text} tokens={tokens} />;
  return (
    <>
      {pieces.map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only ever added at the end
        <LongPiece key={index} text={piece} lines={tokens} from={index * PIECE} />
      ))}
    </>
  );
}

function cut(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
    if (lines % PIECE > 0) continue;
    pieces.push(text.slice(from, at));
    from = at + 1;
  }
  pieces.push(text.slice(from));
  return pieces;
}

/** Highlighted when it comes near the viewport. */
const LongPiece = memo(function LongPiece({
  text,
  lines,
  from,
}: {
  text: string;
  lines: Token[][] | null;
  from: number;
}) {
  const [ref, seen] = useInView<HTMLSpanElement>(lines !== null);
  return (
    <span ref={ref} className="block">
      <Piece text={text || "\n"} tokens={seen && lines ? lines.slice(from, from + PIECE) : null} />
    </span>
  );
});

const Piece = memo(function Piece({ text, tokens }: { text: string; tokens: Token[][] | null }) {
  if (!tokens) return <>{text}</>;
  return (
    <>
      {tokens.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of finished text do not move
        <CodeLine key={index} tokens={line} last={index === tokens.length - 1} />
      ))}
    </>
  );
});

/** The tokens of one line, with its newline. */
function CodeLine({ tokens, last }: { tokens: Token[]; last: boolean }) {
  return (
    <>
      {tokens.map((token, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces of finished text do not move
        <span key={index} style={token.color ? { color: token.color } : undefined}>
          {token.text}
        </span>
      ))}
      {last ? "" : "\n"}
    </>
  );
}
