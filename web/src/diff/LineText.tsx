/** The text of one diff line: highlighted, with changes and invisible characters marked. */
import { createContext, useContext, useState } from "react";
import { hasInvisible } from "@/format/invisible";
import { count } from "@/format/values";
import type { Token } from "@/text/highlight";
import { VisibleText } from "@/ui/VisibleText";
import type { DiffLine } from "./lines";
import { firstOf, segmentsOf } from "./segments";

const LONGEST = 1_000;

/** Whether lines are shown in full, as approval requests need. */
export const FullLinesContext = createContext(false);

interface Props {
  line: DiffLine;
  tokens: readonly Token[] | undefined;
  /** Show carriage returns: line endings are mixed. */
  returns: boolean;
}

export function LineText({ line, tokens, returns }: Props) {
  const whole = useContext(FullLinesContext);
  const [asked, setAsked] = useState(false);
  const all = whole || asked;
  const ended = line.text.endsWith("\r");
  const text = ended ? line.text.slice(0, -1) : line.text;
  const segments = segmentsOf(text, wordsWithout(line, ended), tokens);
  const strong = line.kind === "added" ? "bg-added-strong" : "bg-removed-strong";
  let offset = 0;
  return (
    <>
      {(all ? segments : firstOf(segments, LONGEST)).map((segment) => {
        const key = offset;
        offset += segment.text.length;
        const words = hasInvisible(segment.text) ? <VisibleText text={segment.text} /> : segment.text;
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
      {ended && returns && <Mark words="CR">This line ends with a carriage return</Mark>}
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
