/** Heights and offsets of the lines of a long list. */

export interface Line {
  id: string;
}

/** Where the rows of a list are. */
export interface RowOffsets {
  readonly count: number;
  /** Offset of a row; for the index after the last, the total height. */
  top(index: number): number;
  /** The row at an offset, clamped to the first and the last. */
  indexAt(offset: number): number;
}

/** Rows of one height. */
export function equalRows(count: number, height: number): RowOffsets {
  return {
    count,
    top: (index) => Math.min(index, count) * height,
    indexAt: (offset) => Math.max(0, Math.min(count - 1, Math.floor(offset / height))),
  };
}

/**
 * Lines of different heights: measured where possible, estimated otherwise.
 * Appending a line costs the same for the hundredth and the twenty-thousandth.
 */
export class Heights<L extends Line = Line> implements RowOffsets {
  readonly #measured: Map<string, number>;
  readonly #guess: (line: L) => number;
  #ids: string[] = [];
  #sizes = new Float64Array(256);
  /** Offset of each line; valid for the first `#sure` + 1 of them. */
  #tops = new Float64Array(257);
  #sure = 0;

  /** `measured` may come from an earlier visit and is updated in place. */
  constructor(guess: (line: L) => number, measured = new Map<string, number>()) {
    this.#guess = guess;
    this.#measured = measured;
  }

  get count(): number {
    return this.#ids.length;
  }

  /** Sets the lines. Appended lines are cheap; any other change is compared from the start. */
  setLines(lines: readonly L[]): void {
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
      const line = lines[index] as L;
      this.#ids.push(line.id);
      this.#sizes[index] = this.#measured.get(line.id) ?? this.#guess(line);
    }
  }

  /** Records a measured height. Returns the difference to the previous value. */
  measure(index: number, size: number): number {
    const before = this.#sizes[index] ?? 0;
    const id = this.#ids[index];
    if (id === undefined || before === size) return 0;
    this.#measured.set(id, size);
    this.#sizes[index] = size;
    this.#sure = Math.min(this.#sure, index);
    return size - before;
  }

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

  indexAt(offset: number): number {
    this.total();
    let low = 0;
    let high = Math.max(0, this.#ids.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] as number) <= offset) low = middle;
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
