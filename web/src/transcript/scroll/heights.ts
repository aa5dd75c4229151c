/**
 * How high each line of a long list is, and so where each begins. What was measured counts; of what was not, a guess.
 * A line added at the end costs the same whether it is the hundredth or the twenty-thousandth (FM-23).
 */

export interface Line {
  id: string;
}

export class Heights {
  readonly #measured: Map<string, number>;
  readonly #guess: (line: Line) => number;
  #ids: string[] = [];
  #sizes = new Float64Array(256);
  /** Where each line begins; right for the first `#sure` + 1 of them. */
  #tops = new Float64Array(257);
  #sure = 0;

  /** `measured` may come from an earlier visit; it is filled on. */
  constructor(guess: (line: Line) => number, measured = new Map<string, number>()) {
    this.#guess = guess;
    this.#measured = measured;
  }

  get count(): number {
    return this.#ids.length;
  }

  /** Take over the list as it is now. Only what is new at its end is looked at, unless something moved. */
  follow(lines: readonly Line[]): void {
    const known = this.#ids.length;
    const appended =
      known === 0 ||
      (lines.length >= known &&
        lines[0]?.id === this.#ids[0] &&
        lines[known - 1]?.id === this.#ids[known - 1]);
    const from = appended ? known : this.#same(lines);
    this.#ids.length = from;
    this.#sure = Math.min(this.#sure, from);
    this.#grow(lines.length);
    for (let index = from; index < lines.length; index += 1) {
      const line = lines[index] as Line;
      this.#ids.push(line.id);
      this.#sizes[index] = this.#measured.get(line.id) ?? this.#guess(line);
    }
  }

  /** Remember how high a line is. Returns by how much that differs from what was believed. */
  measure(index: number, size: number): number {
    const before = this.#sizes[index] ?? 0;
    const id = this.#ids[index];
    if (id === undefined || before === size) return 0;
    this.#measured.set(id, size);
    this.#sizes[index] = size;
    this.#sure = Math.min(this.#sure, index);
    return size - before;
  }

  /** Where a line begins; of the one after the last: where the list ends. */
  top(index: number): number {
    const wanted = Math.min(index, this.#ids.length);
    for (let at = this.#sure; at < wanted; at += 1)
      this.#tops[at + 1] = (this.#tops[at] as number) + (this.#sizes[at] as number);
    this.#sure = Math.max(this.#sure, wanted);
    return this.#tops[wanted] as number;
  }

  total(): number {
    return this.top(this.#ids.length);
  }

  /** The line that covers a place; the first or last one where the place lies outside. */
  at(place: number): number {
    this.total();
    let low = 0;
    let high = Math.max(0, this.#ids.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] as number) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #same(lines: readonly Line[]): number {
    const most = Math.min(lines.length, this.#ids.length);
    for (let index = 0; index < most; index += 1) if (lines[index]?.id !== this.#ids[index]) return index;
    return most;
  }

  #grow(count: number): void {
    if (count <= this.#sizes.length) return;
    const room = Math.max(count, this.#sizes.length * 2);
    const sizes = new Float64Array(room);
    sizes.set(this.#sizes);
    const tops = new Float64Array(room + 1);
    tops.set(this.#tops);
    this.#sizes = sizes;
    this.#tops = tops;
  }
}
