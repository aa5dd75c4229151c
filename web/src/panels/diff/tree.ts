/** Tree of changed files; chains of single directories are joined. */
import type { DiffFile } from "@/api/types";

export interface Folder {
  name: string;
  folders: Folder[];
  files: { name: string; file: DiffFile }[];
}

export function treeOf(files: readonly DiffFile[]): Folder {
  const root: Folder = { name: "", folders: [], files: [] };
  for (const file of files) {
    const parts = file.path.split("/");
    const name = parts.pop() ?? file.path;
    let at = root;
    for (const part of parts) {
      let next = at.folders.find((each) => each.name === part);
      if (!next) {
        next = { name: part, folders: [], files: [] };
        at.folders.push(next);
      }
      at = next;
    }
    at.files.push({ name, file });
  }
  return joined(root);
}

function joined(folder: Folder): Folder {
  const folders = folder.folders.map((inner) => {
    let at = joined(inner);
    const only = at.folders[0];
    if (at.files.length === 0 && at.folders.length === 1 && only)
      at = { ...only, name: `${at.name}/${only.name}` };
    return at;
  });
  return { ...folder, folders };
}
