/** Lists whose order never changes: the place of a thing is its key, as nothing else in hostile data is sure to be its own. */
export interface Keyed<T> {
  key: string;
  item: T;
}

export function keyed<T>(items: readonly T[]): Keyed<T>[] {
  return items.map((item, place) => ({ key: String(place), item }));
}

export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let start = 0; start < items.length; start += size) chunks.push(items.slice(start, start + size));
  return chunks;
}
