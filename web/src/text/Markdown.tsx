/**
 * Markdown of models as React nodes, never as HTML. Unchanged blocks do not render again; while text streams in,
 * only the last one does. Links are http(s) or mailto; external images are not loaded.
 */
import "./text.css";
import { memo, useRef } from "react";
import { BlockView } from "./BlockView";
import { type Block, type Parsed, parse } from "./blocks";

export const Markdown = memo(function Markdown({ text, streaming }: { text: string; streaming: boolean }) {
  const before = useRef<{ parsed: Parsed; streaming: boolean } | null>(null);
  const known = before.current;
  if (!known || known.streaming !== streaming || known.parsed.text !== text)
    before.current = { parsed: parse(text, streaming, known?.parsed), streaming };
  const blocks = before.current?.parsed.blocks ?? [];
  return (
    <div className="min-w-0 text-prose break-words [unicode-bidi:plaintext]">
      {blocks.map((block) => (
        <OneBlock key={block.at} block={block} />
      ))}
    </div>
  );
});

const OneBlock = memo(
  function OneBlock({ block }: { block: Block }) {
    return <BlockView token={block.token} open={block.open} />;
  },
  (a, b) =>
    a.block === b.block ||
    (a.block.raw === b.block.raw &&
      a.block.open === b.block.open &&
      a.block.token.type === b.block.token.type &&
      // The last paragraph is completed while streaming: the same source can render differently later.
      (a.block.token as { text?: string }).text === (b.block.token as { text?: string }).text),
);
