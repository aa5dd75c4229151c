/** One hunk of a diff. */
import type { ReactNode } from "react";
import type { DiffHunk } from "./lines";

export function HunkView({ hunk, actions }: { hunk: DiffHunk; split: boolean; actions: ReactNode }) {
  return (
    <div>
      {actions}
      {hunk.lines.map((line) => (
        <div key={`${line.old}/${line.now}`} className="whitespace-pre-wrap">
          {line.kind === "added" ? "+" : line.kind === "removed" ? "-" : " "} {line.text}
        </div>
      ))}
    </div>
  );
}
