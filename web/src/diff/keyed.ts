/** Index keys for lists whose order never changes. */
export interface Keyed<T> {
  key: string;
  item: T;
}

export function keyed<T>(items: readonly T[]): Keyed<T>[] {
  return items.map((item, position) => ({ key: String(position), item }));
}

export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let start = 0; start < items.length; start += size) chunks.push(items.slice(start, start + size));
  return chunks;
}
