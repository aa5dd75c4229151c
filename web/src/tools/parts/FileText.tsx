/** Numbered lines of a file with syntax highlighting. Numbers are not copied. */
import { type CSSProperties, useMemo, useState } from "react";
import { chunksOf, keyed } from "@/diff/keyed";
import { hasInvisible } from "@/format/invisible";
import { baseName, plural } from "@/format/values";
import { type Token, useTokens } from "@/text/highlight";
import { VisibleText } from "@/ui/VisibleText";

export interface NumberedLine {
  /** Null: text of the tool between the lines. */
  number: number | null;
  text: string;
  /** A match among its context lines. */
  hit?: boolean;
}

const CHUNK = 200;
const LONGEST = 2_000;

interface Props {
  lines: readonly NumberedLine[];
  path: string;
  most: number;
}

export function FileText({ lines, path, most }: Props) {
  const [all, setAll] = useState(false);
  const shown = useMemo(
    () => (all || lines.length <= most + 2 ? lines : lines.slice(0, most)),
    [lines, all, most],
  );
  const text = useMemo(() => shown.map((line) => line.text).join("\n"), [shown]);
  const tokens = useTokens(text, baseName(path));
  const digits = String(lines.findLast((line) => line.number !== null)?.number ?? 0).length;
  const rows = keyed(shown);
  return (
    <div
      className="min-w-0 font-mono text-code [tab-size:4]"
      style={{ "--digits": Math.max(2, digits) } as CSSProperties}
    >
      {keyed(chunksOf(rows, CHUNK)).map(({ key, item: chunk }) => (
        <div key={key} style={rows.length > CHUNK ? unseen(chunk.length) : undefined}>
          {chunk.map(({ key: position, item }) => (
            <Line key={position} line={item} tokens={tokens?.[Number(position)]} />
          ))}
        </div>
      ))}
      {shown.length < lines.length && (
        <button
          type="button"
          onClick={() => setAll(true)}
          className="target mt-0.5 block rounded font-sans text-chrome text-accent select-none hover:underline"
        >
          Show all {plural(lines.length, "line")}
        </button>
      )}
    </div>
  );
}

function Line({ line, tokens }: { line: NumberedLine; tokens: readonly Token[] | undefined }) {
  if (line.number === null)
    return (
      <div className="pl-[calc(var(--digits)*1ch+16px)] font-sans text-small text-ink-3">{line.text}</div>
    );
  const weight = line.hit ? "font-semibold text-accent" : "text-ink-3";
  return (
    <div className="grid grid-cols-[auto_minmax(0,1fr)]">
      <span className={`tabular w-[calc(var(--digits)*1ch+16px)] pr-4 text-right select-none ${weight}`}>
        {line.number}
      </span>
      <span className="min-h-[19px] min-w-0 whitespace-pre-wrap wrap-anywhere">
        <Highlighted text={line.text} tokens={tokens} />
        {"\n"}
      </span>
    </div>
  );
}

function Highlighted({ text, tokens }: { text: string; tokens: readonly Token[] | undefined }) {
  const [all, setAll] = useState(false);
  if (text.length > LONGEST && !all)
    return (
      <>
        <VisibleText text={text.slice(0, LONGEST)} />
        <button type="button" className="text-accent select-none" onClick={() => setAll(true)}>
          … {plural(text.length - LONGEST, "more character")}
        </button>
      </>
    );
  if (!tokens || hasInvisible(text) || tokens.map((token) => token.text).join("") !== text)
    return <VisibleText text={text} />;
  return keyed(tokens).map(({ key, item }) => (
    <span key={key} style={item.color ? { color: item.color } : undefined}>
      {item.text}
    </span>
  ));
}

function unseen(lines: number) {
  return { contentVisibility: "auto", containIntrinsicSize: `auto ${lines * 19}px` } as const;
}
