/** Markdown of a model or a web page, collapsed if long. */
import { useState } from "react";
import { plural } from "@/format/values";
import { Markdown } from "@/text/Markdown";
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
  let offset = -1;
  for (let line = 0; line < lines; line += 1) {
    const next = text.indexOf("\n", offset + 1);
    if (next < 0) break;
    offset = next;
  }
  return text.slice(0, Math.min(offset < 0 ? text.length : offset, lines * 200));
}
