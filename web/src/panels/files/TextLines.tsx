/** Numbered lines of a text file with syntax highlighting. */
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { errorMessage } from "@/api/client";
import type { FileContent } from "@/api/types";
import { hasInvisible } from "@/format/invisible";
import { baseName, bytes, count, plural } from "@/format/values";
import { type Token, useTokens } from "@/text/highlight";
import { Button } from "@/ui/Button";
import { VisibleText } from "@/ui/VisibleText";
import { linesOf, piecesOf } from "./lines";
import { rawUrl } from "./rawUrl";

/** Lines shown at first. */
const PAGE = 3000;
/** Bytes per further part of a file. */
const NEXT = 1024 * 1024;
const LINE = 19;

export function TextLines({ sessionId, file, line }: { sessionId: string; file: FileContent; line: number }) {
  const { text, left, problem, more } = useRest(sessionId, file);
  const lines = useMemo(() => linesOf(text), [text]);
  const [most, setMost] = useState(Math.max(PAGE, line + 200));
  const pieces = useMemo(() => piecesOf(lines, most), [lines, most]);
  const tokens = useTokens(file.text ?? "", languageOf(file.path));
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (line > 0) box.current?.scrollTo({ top: Math.max(0, (line - 6) * LINE) });
  }, [line]);
  const digits = String(Math.min(most, lines.length)).length;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <div ref={box} tabIndex={0} className="min-h-0 flex-1 overflow-auto bg-surface-0 outline-offset-[-2px]">
      <div className="min-w-max py-2 font-mono text-code" style={{ "--digits": `${digits + 2}ch` } as object}>
        {pieces.map((piece) => (
          <Piece
            key={piece.first}
            {...piece}
            tokens={tokens?.slice(piece.first - 1, piece.first - 1 + piece.lines.length) ?? null}
            marked={line}
          />
        ))}
      </div>
      <div className="sticky left-0 space-y-2 px-3 pb-3">
        {lines.length > most && (
          <Button onClick={() => setMost(most + PAGE)}>
            Show {plural(Math.min(PAGE, lines.length - most), "more line")} of {count(lines.length)}
          </Button>
        )}
        {lines.length <= most && left > 0 && (
          <p className="m-0 flex flex-wrap items-center gap-2 text-ink-2">
            {bytes(left)} of {bytes(file.size)} are not shown.
            <Button onClick={() => void more()}>Show more</Button>
          </p>
        )}
        {problem && <p className="m-0 text-failed">{problem}</p>}
      </div>
    </div>
  );
}

interface PieceProps {
  first: number;
  lines: string[];
  tokens: Token[][] | null;
  marked: number;
}

const Piece = memo(function Piece({ first, lines, tokens, marked }: PieceProps) {
  return (
    <div style={{ contentVisibility: "auto", containIntrinsicSize: `auto ${lines.length * LINE}px` }}>
      {lines.map((text, index) => {
        const number = first + index;
        return (
          <div
            key={number}
            data-line={number}
            className={`min-h-[19px] pr-4 whitespace-pre before:sticky before:left-0 before:mr-[1ch] before:inline-block before:w-[var(--digits)] before:bg-surface-0 before:pr-[1ch] before:text-right before:text-ink-3 before:content-[attr(data-line)] before:select-none ${number === marked ? "bg-needs-soft" : ""}`}
          >
            <OneLine text={text} tokens={tokens?.[index] ?? null} />
          </div>
        );
      })}
    </div>
  );
}, samePiece);

function samePiece(a: PieceProps, b: PieceProps): boolean {
  return (
    a.first === b.first &&
    a.marked === b.marked &&
    a.lines.length === b.lines.length &&
    a.tokens?.[0] === b.tokens?.[0] &&
    a.lines.every((line, index) => line === b.lines[index])
  );
}

/** A line with invisible characters shows them instead of colours. */
function OneLine({ text, tokens }: { text: string; tokens: Token[] | null }) {
  if (hasInvisible(text)) return <VisibleText text={text} />;
  return tokens?.length ? <Coloured tokens={tokens} /> : text || "\n";
}

function Coloured({ tokens }: { tokens: Token[] }) {
  let position = 0;
  return tokens.map((token) => {
    position += token.text.length;
    return (
      <span key={position} style={token.color ? { color: token.color } : undefined}>
        {token.text}
      </span>
    );
  });
}

/** Reads long files in byte ranges. */
function useRest(sessionId: string, file: FileContent) {
  const [rest, setRest] = useState({ text: "", bytes: 0 });
  const [problem, setProblem] = useState("");
  const shown = useMemo(() => new TextEncoder().encode(file.text ?? "").length, [file.text]);
  const readable = file.truncated && /^(utf-?8|ascii)$/i.test(file.encoding ?? "");
  const at = shown + rest.bytes;
  const more = async () => {
    try {
      const range = `bytes=${at}-${at + NEXT - 1}`;
      const answer = await fetch(rawUrl(sessionId, file.path), { headers: { range } });
      if (!answer.ok) throw new Error(`The server answered ${answer.status}. Download the file instead.`);
      const read = new Uint8Array(await answer.arrayBuffer());
      const whole = lastLineEnd(read);
      const text = new TextDecoder().decode(read.subarray(0, whole));
      setRest((before) => ({ text: before.text + text, bytes: before.bytes + whole }));
      setProblem("");
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  return {
    text: (file.text ?? "") + rest.text,
    left: readable ? Math.max(0, file.size - at) : 0,
    problem,
    more,
  };
}

/** Ends at the last complete line, so that no character is split. */
function lastLineEnd(read: Uint8Array): number {
  const position = read.lastIndexOf(10);
  return position >= 0 && read.length === NEXT ? position + 1 : read.length;
}

function languageOf(path: string): string {
  const name = baseName(path);
  return name.includes(".") ? (name.split(".").at(-1) ?? "") : name;
}
