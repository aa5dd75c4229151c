/** Long text: beginning and end, expandable. */
import { type ReactNode, useMemo, useState } from "react";
import { chunksOf, keyed } from "@/diff/keyed";
import { plural } from "@/format/values";
import { VisibleText } from "@/ui/VisibleText";

/** Lines per chunk; off-screen chunks are not rendered by the browser. */
const CHUNK = 200;
const HEIGHT = 19;
/** Characters of a line that are shown at first. */
const LONGEST = 4_000;

export const PRE = "m-0 min-w-0 whitespace-pre-wrap wrap-anywhere font-mono text-code [tab-size:4]";

interface Props {
  text: string;
  /** Lines shown at first. */
  most: number;
  /** How many of them are from the end. */
  tail?: number;
  /** Renders a piece; by default plain text with invisible characters shown. */
  draw?: (text: string) => ReactNode;
}

export function LongText({ text, most, tail = 0, draw = drawPlain }: Props) {
  const [all, setAll] = useState(false);
  const lines = useMemo(() => text.split("\n"), [text]);
  // Show one or two more lines instead of a button of the same height.
  const folded = !all && (lines.length > most + 2 || lines.some((line) => line.length > LONGEST));
  if (!folded) return <Lines lines={lines} draw={draw} />;
  const hidden = Math.max(0, lines.length - most);
  const cut = lines.map((line) => (line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line));
  const ends = tail > 0 && hidden > 0;
  return (
    <>
      <Lines lines={hidden > 0 ? cut.slice(0, most - tail) : cut} draw={draw} />
      <button
        type="button"
        onClick={() => setAll(true)}
        className="target my-0.5 block rounded font-sans text-chrome text-accent select-none hover:underline"
      >
        {hidden > 0 ? `Show all ${plural(lines.length, "line")}` : "Show long lines in full"}
      </button>
      {ends && <Lines lines={cut.slice(-tail)} draw={draw} />}
    </>
  );
}

function Lines({ lines, draw }: { lines: string[]; draw: (text: string) => ReactNode }) {
  if (lines.length <= CHUNK) return <pre className={PRE}>{draw(lines.join("\n"))}</pre>;
  return (
    <pre className={PRE}>
      {keyed(chunksOf(lines, CHUNK)).map(({ key, item }) => (
        <span key={key} className="block" style={unseen(item.length)}>
          {draw(`${item.join("\n")}\n`)}
        </span>
      ))}
    </pre>
  );
}

function unseen(lines: number) {
  return { contentVisibility: "auto", containIntrinsicSize: `auto ${lines * HEIGHT}px` } as const;
}

function drawPlain(text: string): ReactNode {
  return <VisibleText text={text} />;
}
