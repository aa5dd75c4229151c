import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Heights } from "@/ui/rows/heights";
import type { ListLine } from "./anchor";
import { Virtualizer } from "./virtualizer";

const ROOM = 600;
const HEAD = 12;

/** A page with a layout of its own: lines of known heights, as a browser would put them. */
class ListLayout {
  lines: ListLine[] = [];
  readonly real = new Map<string, number>();
  readonly scroller = document.createElement("div");
  readonly feed = document.createElement("div");
  readonly virtualizer: Virtualizer;
  drawn: string[] = [];
  below = 0;
  wanted = true;
  draws = 0;
  #top = 0;

  constructor() {
    this.feed.setAttribute("role", "feed");
    this.scroller.append(this.feed);
    document.body.append(this.scroller);
    this.virtualizer = new Virtualizer(new Heights(() => 40), HEAD, () => {
      this.wanted = true;
    });
    Object.defineProperties(this.scroller, {
      clientHeight: { get: () => ROOM },
      clientWidth: { get: () => 800 },
      scrollHeight: { get: () => Math.max(ROOM, this.#height()) },
      scrollTop: { get: () => this.#clamped(), set: (top: number) => this.#scroll(top) },
    });
    this.scroller.getBoundingClientRect = () => new DOMRect(0, 0, 800, ROOM);
    this.virtualizer.attach(this.scroller);
  }

  add(id: string, height: number, first = false): void {
    this.real.set(id, height);
    const line = { id, rows: [id] };
    if (first) this.lines = [line, ...this.lines];
    else this.lines.push(line);
    this.wanted = true;
  }

  /** Draw as often as is asked for, as React does, and count. */
  settle(): void {
    for (let round = 0; this.wanted; round += 1) {
      expect(round, "drawings in a row").toBeLessThan(60);
      this.wanted = false;
      this.#draw();
    }
  }

  /** Something drawn changed its size by itself. */
  resize(id: string, height: number): void {
    this.real.set(id, height);
    if (!this.drawn.includes(id)) return;
    this.virtualizer.measured(id, height);
    this.virtualizer.settle();
    this.settle();
  }

  wheel(by: number): void {
    this.#scroll(this.scroller.scrollTop + by);
    this.virtualizer.onScroll();
    this.settle();
  }

  topOf(id: string): number {
    let top = this.#padding() - this.scroller.scrollTop;
    for (const each of this.drawn) {
      if (each === id) return top;
      top += this.real.get(each) ?? 0;
    }
    return Number.NaN;
  }

  /** The first line that is seen from its beginning. */
  read(): string {
    return this.drawn.find((id) => this.topOf(id) >= 0) ?? "";
  }

  atEnd(): number {
    return this.scroller.scrollHeight - ROOM - this.scroller.scrollTop;
  }

  #draw(): void {
    this.draws += 1;
    const { start, end } = this.virtualizer.setLines(this.lines);
    this.drawn = this.lines.slice(start, end).map((line) => line.id);
    for (const child of [...this.feed.children] as HTMLElement[]) {
      if (this.drawn.includes(child.dataset.line ?? "")) continue;
      this.virtualizer.unmounted(child.dataset.line ?? "", child);
      child.remove();
    }
    for (const id of this.drawn) if (!this.virtualizer.elementOf(id)) this.#mount(id);
    this.feed.style.paddingTop = `${this.virtualizer.paddingTop}px`;
    this.below = this.virtualizer.heights.total() - this.virtualizer.heights.top(end);
    this.drawn.forEach((id, index) => {
      this.virtualizer.heights.measure(start + index, this.real.get(id) ?? 0);
    });
    this.virtualizer.settle();
  }

  #mount(id: string): void {
    const element = document.createElement("article");
    element.dataset.line = id;
    element.getBoundingClientRect = () => new DOMRect(0, this.topOf(id), 800, this.real.get(id) ?? 0);
    this.feed.append(element);
    this.virtualizer.mounted(id, element);
  }

  #padding(): number {
    return Number.parseFloat(this.feed.style.paddingTop || "0");
  }

  #height(): number {
    return this.#padding() + this.drawn.reduce((sum, id) => sum + (this.real.get(id) ?? 0), 0) + this.below;
  }

  #scroll(top: number): void {
    this.#top = top;
    this.#clamped();
  }

  /** As in a browser: what does not fit any more is gone for good. */
  #clamped(): number {
    this.#top = Math.min(Math.max(0, this.#top), Math.max(0, Math.max(ROOM, this.#height()) - ROOM));
    return this.#top;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const height = fc.integer({ min: 10, max: 900 });
const step = fc.oneof(
  fc.record({
    do: fc.constant("append" as const),
    heights: fc.array(height, { minLength: 1, maxLength: 5 }),
  }),
  fc.record({
    do: fc.constant("prepend" as const),
    heights: fc.array(height, { minLength: 1, maxLength: 40 }),
  }),
  fc.record({ do: fc.constant("resize" as const), which: fc.nat(), height }),
  fc.record({ do: fc.constant("wheel" as const), by: fc.integer({ min: -4000, max: 2000 }) }),
  fc.record({ do: fc.constant("rest" as const) }),
);

test("at the end it stays at the end; elsewhere nothing that is read moves, but by the reader's hand (S000-68, FM-24)", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const layout = new ListLayout();
      let made = 0;
      for (; made < 60; made += 1) layout.add(`l${made}`, 10 + ((made * 53) % 200));
      layout.settle();
      expect(layout.atEnd()).toBeLessThanOrEqual(1);
      for (const each of steps) {
        const { pinned } = layout.virtualizer;
        const read = layout.read();
        const top = layout.topOf(read);
        if (each.do === "append") for (const size of each.heights) layout.add(`l${made++}`, size);
        if (each.do === "prepend") for (const size of each.heights) layout.add(`l${made++}`, size, true);
        if (each.do === "resize") {
          // What grows is not what is read: that may grow downwards only, and is held by its upper edge.
          const others = layout.drawn.filter((id) => id !== read);
          const id = others[each.which % Math.max(1, others.length)];
          if (id) layout.resize(id, each.height);
        }
        if (each.do === "rest") vi.advanceTimersByTime(1000);
        if (each.do === "wheel") {
          const from = layout.lines.findIndex((line) => line.id === read);
          layout.wheel(each.by);
          const to = layout.lines.findIndex((line) => line.id === layout.read());
          if (each.by > 950 && read && to >= 0 && layout.atEnd() > 2)
            expect(to, "further down").toBeGreaterThan(from);
          if (each.by < -950 && read && to >= 0 && layout.scroller.scrollTop > 1)
            expect(to, "further up").toBeLessThan(from);
        }
        layout.settle();
        if (layout.virtualizer.pinned) expect(layout.atEnd()).toBeLessThanOrEqual(2);
        const moves = each.do === "wheel" || pinned || layout.virtualizer.pinned;
        // No room to put it right; or none above, and the hand has not come to rest.
        const stuck =
          layout.scroller.scrollTop <= 0 || layout.atEnd() <= 1 || layout.virtualizer.paddingTop < 1;
        const far = top >= ROOM / 2; // one tall line is read: it is held by its upper edge
        if (!moves && !stuck && !far && !Number.isNaN(top)) expect(layout.topOf(read)).toBeCloseTo(top, 0);
      }
    }),
    {
      numRuns: 150,
      examples: [
        // A line above what is read shrinks, then one between it and the former first line grows.
        [
          [
            { do: "wheel", by: -3 },
            { do: "append", heights: [10] },
            { do: "resize", which: 7, height: 10 },
            { do: "resize", which: 491479962, height: 282 },
          ],
        ],
        // The list becomes too short, and then long enough again.
        [
          [
            { do: "wheel", by: -46 },
            { do: "resize", which: 1869161093, height: 10 },
            { do: "append", heights: [18] },
          ],
        ],
      ],
    },
  );
});

test("only what is seen, and some around it, is drawn", () => {
  const layout = new ListLayout();
  for (let made = 0; made < 20_000; made += 1) layout.add(`l${made}`, 32);
  layout.settle();
  expect(layout.drawn.length).toBeLessThan(80);
  expect(layout.drawn.at(-1)).toBe("l19999");
  const before = layout.draws;
  layout.add("one more", 32);
  layout.settle();
  expect(layout.draws - before).toBe(1);
});

test("who goes to the very top is at the top, however high the lines there turn out to be", () => {
  const layout = new ListLayout();
  for (let made = 0; made < 300; made += 1) layout.add(`l${made}`, made % 3 === 0 ? 700 : 90);
  layout.settle();
  for (let turn = 0; turn < 30; turn += 1) layout.wheel(-100_000);
  vi.advanceTimersByTime(1000);
  layout.settle();
  expect(layout.topOf("l0")).toBeCloseTo(HEAD, 0);
  expect(layout.scroller.scrollTop).toBeLessThanOrEqual(1);
});

test("who goes from the top far down is there", () => {
  const layout = new ListLayout();
  for (let made = 0; made < 300; made += 1) layout.add(`l${made}`, made % 3 === 0 ? 700 : 90);
  layout.settle();
  layout.wheel(-1_000_000);
  vi.advanceTimersByTime(1000);
  layout.settle();
  for (let turn = 1; turn < 10; turn += 1) {
    layout.wheel(3000);
    expect(layout.drawn.length).toBeGreaterThan(0);
    expect(Number(layout.read().slice(1))).toBeGreaterThan(turn * 5);
  }
});

test("a line that is aimed at is where it was wanted", () => {
  const layout = new ListLayout();
  for (let made = 0; made < 500; made += 1) layout.add(`l${made}`, 20 + ((made * 37) % 300));
  layout.settle();
  expect(layout.virtualizer.scrollToLine("l123", 96)).toBe(true);
  layout.settle();
  expect(layout.topOf("l123")).toBeCloseTo(96, 0);
  expect(layout.virtualizer.scrollToLine("nobody", 96)).toBe(false);
  layout.virtualizer.scrollToEnd();
  layout.settle();
  expect(layout.atEnd()).toBeLessThanOrEqual(1);
});

test("a saved position is restored", () => {
  const before = new ListLayout();
  for (let made = 0; made < 200; made += 1) before.add(`l${made}`, 20 + ((made * 37) % 300));
  before.settle();
  before.wheel(-3000);
  vi.advanceTimersByTime(1000);
  before.settle();
  const position = before.virtualizer.position();
  const after = new ListLayout();
  after.lines = before.lines;
  for (const [id, size] of before.real) after.real.set(id, size);
  after.virtualizer.restore(position);
  after.settle();
  expect(after.topOf(position.id)).toBeCloseTo(position.top, 0);
});
