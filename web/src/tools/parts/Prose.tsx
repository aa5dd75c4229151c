/** Words a model or a page wrote for people: Markdown, of which a long one begins folded. */
import { useState } from "react";
import { Markdown } from "@/text/Markdown";
import { plural } from "@/words/format";
import { lineCount } from "./fields";

export function Prose({ text, most = 60 }: { text: string; most?: number }) {
  const [all, setAll] = useState(false);
  const lines = lineCount(text);
  const long = !all && (lines > most + 4 || text.length > most * 200);
  return (
    <div className="min-w-0">
      <Markdown text={long ? beginning(text, most) : text} streaming={long} />
      {long && (
        <button
          type="button"
          onClick={() => setAll(true)}
          className="target mt-1 rounded text-chrome text-accent hover:underline"
        >
          Show all {plural(lines, "line")}
        </button>
      )}
    </div>
  );
}

function beginning(text: string, lines: number): string {
  let place = -1;
  for (let line = 0; line < lines; line += 1) {
    const next = text.indexOf("\n", place + 1);
    if (next < 0) break;
    place = next;
  }
  return text.slice(0, Math.min(place < 0 ? text.length : place, lines * 200));
}
