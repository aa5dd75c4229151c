/** The words of one line: coloured, with what changed marked and nothing hidden. A line made for machines is shown in part. */
import { createContext, useContext, useState } from "react";
import type { Token } from "@/text/highlight";
import { Shown } from "@/ui/Hidden";
import { count } from "@/words/format";
import { hasHidden } from "@/words/hidden";
import type { DiffLine } from "./lines";
import { firstOf, segmentsOf } from "./segments";

const LONGEST = 1_000;

/** Whether every line is shown to its end, as it must be where somebody decides on it (FM-38). */
export const WholeContext = createContext(false);

interface Props {
  line: DiffLine;
  tokens: readonly Token[] | undefined;
  /** Carriage returns mean something here: not all lines end with one. */
  returns: boolean;
}

export function LineText({ line, tokens, returns }: Props) {
  const whole = useContext(WholeContext);
  const [asked, setAsked] = useState(false);
  const all = whole || asked;
  const ended = line.text.endsWith("\r");
  const text = ended ? line.text.slice(0, -1) : line.text;
  const segments = segmentsOf(text, wordsWithout(line, ended), tokens);
  const strong = line.kind === "added" ? "bg-added-strong" : "bg-removed-strong";
  let place = 0;
  return (
    <>
      {(all ? segments : firstOf(segments, LONGEST)).map((segment) => {
        const key = place;
        place += segment.text.length;
        const words = hasHidden(segment.text) ? <Shown text={segment.text} /> : segment.text;
        if (!segment.changed && !segment.color) return words;
        return (
          <span
            key={key}
            className={segment.changed ? `rounded-[2px] ${strong}` : undefined}
            style={segment.color ? { color: segment.color } : undefined}
          >
            {words}
          </span>
        );
      })}
      {!all && text.length > LONGEST && (
        <button type="button" className="text-accent select-none" onClick={() => setAsked(true)}>
          … {count(text.length - LONGEST)} more characters
        </button>
      )}
      {ended && returns && <Mark words="CR">A carriage return ends this line</Mark>}
      {line.bare && <Mark words="no newline at end">The file ends here without a newline</Mark>}
      {"\n"}
    </>
  );
}

function wordsWithout(line: DiffLine, ended: boolean) {
  if (!line.words || !ended) return line.words;
  return line.words.map((word, index) =>
    index === (line.words?.length ?? 0) - 1 ? { ...word, text: word.text.replace(/\r$/, "") } : word,
  );
}

function Mark({ words, children }: { words: string; children: string }) {
  return (
    <span title={children} className="ml-1 rounded bg-surface-3 px-1 text-[10px] text-ink-2 select-none">
      {words}
    </span>
  );
}
