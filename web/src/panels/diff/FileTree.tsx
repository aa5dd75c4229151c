/** Tree of the changed files, on wide panels. */
import { useMemo } from "react";
import type { DiffFile } from "@/api/types";
import { VisibleText } from "@/ui/VisibleText";
import { Counts } from "../PathName";
import { statusLabel } from "./fileLabels";
import { type Folder, treeOf } from "./tree";

export function FileTree({ files, onChoose }: { files: DiffFile[]; onChoose: (path: string) => void }) {
  const tree = useMemo(() => treeOf(files), [files]);
  return (
    <nav
      aria-label="Changed files"
      className="w-64 shrink-0 overflow-auto border-r border-line bg-surface-1 py-1"
    >
      <Inside folder={tree} depth={0} onChoose={onChoose} />
    </nav>
  );
}

interface InsideProps {
  folder: Folder;
  depth: number;
  onChoose: (path: string) => void;
}

function Inside({ folder, depth, onChoose }: InsideProps) {
  const indent = { paddingLeft: 12 + depth * 12 };
  return (
    <ul className="m-0 list-none p-0">
      {folder.folders.map((each) => (
        <li key={each.name}>
          <div style={indent} className="truncate pr-2 py-0.5 font-mono text-code text-ink-3">
            <bdi>
              <VisibleText text={each.name} />
            </bdi>
          </div>
          <Inside folder={each} depth={depth + 1} onChoose={onChoose} />
        </li>
      ))}
      {folder.files.map(({ name, file }) => {
        const { letter, label, colour } = statusLabel(file);
        return (
          <li key={file.path}>
            <button
              type="button"
              style={indent}
              title={file.path}
              onClick={() => onChoose(file.path)}
              className="flex h-7 w-full items-center gap-2 pr-2 text-left hover:bg-surface-2"
            >
              <span className={`w-3 font-mono text-small font-semibold ${colour}`} title={label}>
                {letter}
              </span>
              <bdi className="min-w-0 flex-1 truncate font-mono text-code">
                <VisibleText text={name} />
              </bdi>
              <Counts added={file.added ?? 0} removed={file.removed ?? 0} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
