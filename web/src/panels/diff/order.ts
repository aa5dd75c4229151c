/** Order of changed files in the list and the tree: folders first, then by name. Pure. */
export function inTreeOrder<T extends { path: string }>(files: readonly T[]): T[] {
  const keys = new Map(files.map((file) => [file, file.path.split("/")]));
  return [...files].sort((a, b) => compare(keys.get(a) ?? [], keys.get(b) ?? []));
}

function compare(a: readonly string[], b: readonly string[]): number {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at++) {
    const lastA = at === a.length - 1;
    const lastB = at === b.length - 1;
    if (lastA !== lastB) return lastA ? 1 : -1;
    const [x = "", y = ""] = [a[at], b[at]];
    if (x !== y) return x < y ? -1 : 1;
  }
  return a.length - b.length;
}
