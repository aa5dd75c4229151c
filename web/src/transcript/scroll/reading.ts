/**
 * Where somebody reads in a long list, and how that place is kept (S000-68, FM-24). At the bottom, it stays at the
 * bottom, whatever grows. Elsewhere, what is read stays where it is: the place is held by an element, not by a number,
 * so that it does not matter what above it was loaded, measured, opened or closed.
 */
import type { Heights } from "./heights";
import { type Held, innermost, type Place, type ReadLine, type Span, stillThere } from "./held";
import { AT_END, BEYOND, FAR, NEAR, ROUNDS, STILL } from "./limits";

export class Reading {
  pinned = true;
  span: Span = { start: 0, end: 0 };
  lines: readonly ReadLine[] = [];
  readonly heights: Heights;
  /** Pixels above the first line. */
  head: number;
  /**
   * By how much the room above is off, while a hand moves the page: to write where the page stands would end its
   * movement, so the room takes the difference until the hand rests.
   */
  #debt = 0;
  #moved = Number.NEGATIVE_INFINITY;
  #rest = 0;
  #rounds = 0;
  /** The reader went further than what was drawn: what is read is known after the next drawing. */
  #hasty = false;

  #scroller: HTMLElement | null = null;
  #held: Held | null = null;
  #aimed = false;
  #first: string | undefined;
  #last = 0;
  #written = -1;
  #room = { width: 0, height: 0 };
  readonly #elements = new Map<string, HTMLElement>();
  readonly #changed: () => void;

  /** `changed` is called when other lines have to be drawn, or the reader came to the end or left it. */
  constructor(heights: Heights, head: number, changed: () => void) {
    this.heights = heights;
    this.head = head;
    this.#changed = changed;
  }

  /** Come back to where somebody read before. */
  start(place: Place): void {
    this.pinned = false;
    this.#held = { id: place.id, element: null, top: place.top, line: place.top };
    this.#aimed = true;
  }

  attach(scroller: HTMLElement): void {
    this.#scroller = scroller;
    this.#room = { width: scroller.clientWidth, height: scroller.clientHeight };
  }

  detach(): void {
    window.clearTimeout(this.#rest);
    this.#scroller = null;
  }

  /** The room above the first line that is drawn. */
  get above(): number {
    return this.head + this.heights.top(this.span.start) + this.#debt;
  }

  mounted(id: string, element: HTMLElement): void {
    this.#elements.set(id, element);
  }

  unmounted(id: string, element: HTMLElement): void {
    if (this.#elements.get(id) === element) this.#elements.delete(id);
  }

  /** What is drawn of the list. */
  get root(): HTMLElement | null {
    return this.#scroller;
  }

  elementOf(id: string): HTMLElement | undefined {
    return this.#elements.get(id);
  }

  /** The lines to draw now. Called while drawing, with the list as it is. */
  follow(lines: readonly ReadLine[]): Span {
    const before = this.lines;
    this.lines = lines;
    const moved = lines[0]?.id !== this.#first || lines.length < this.heights.count;
    this.#first = lines[0]?.id;
    this.heights.follow(lines);
    if (moved && this.#held)
      this.#held.id = stillThere(this.#held.id, this.indexOf(this.#held.id), before, lines);
    this.span = this.#wanted(moved || this.#aimed);
    this.#debt = Math.max(this.#debt, -this.head - this.heights.top(this.span.start)); // there is no less than no room
    return this.span;
  }

  /** After drawing, or after something changed its size: put what is read back where it was. */
  settle(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    this.#room = { width: scroller.clientWidth, height: scroller.clientHeight };
    if (this.pinned) {
      this.#pay();
      this.#write(scroller, scroller.scrollHeight - scroller.clientHeight);
    } else if (this.#held) this.#restore(scroller, this.#held);
    if (this.#covers(NEAR)) {
      this.#rounds = 0;
      if (this.#hasty && !this.pinned) this.hold();
      this.#hasty = false;
    } else if (this.#rounds++ < ROUNDS) this.#changed();
  }

  /** A line was measured. */
  measured(id: string, size: number): void {
    const index = this.#near(id);
    if (index >= 0) this.heights.measure(index, size);
  }

  /** The reader moved, or the browser did. */
  scrolled(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const { clientWidth: width, clientHeight: height } = scroller;
    if (width !== this.#room.width || height !== this.#room.height) return this.settle();
    const top = scroller.scrollTop;
    const up = top < this.#last;
    const ours = Math.abs(top - this.#written) < 1;
    this.#last = top;
    if (!ours) {
      this.#written = -1;
      this.#moves();
      const left = scroller.scrollHeight - height - top;
      this.#pin(left <= AT_END || (this.pinned && !up));
      if (!this.pinned) this.hold();
      // At the very top, the top is meant, however high what is there turns out to be.
      if (top <= 0 && !this.pinned) this.aim(this.lines[0]?.id ?? "", this.head);
    }
    this.#rounds = 0;
    this.#hasty = !this.#covers(NEAR);
    if (this.#hasty) this.#changed();
  }

  /** What is read now is to stay where it is; given an element, that one. */
  hold(element?: HTMLElement): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const edge = scroller.getBoundingClientRect().top;
    let line = element?.closest<HTMLElement>("[data-line]") ?? this.#firstSeen(edge);
    if (!line) return this.#holdUnseen(scroller.scrollTop);
    let inner = element ?? innermost(line, edge);
    if (!element && inner.getBoundingClientRect().top < edge) {
      const next = this.#firstSeen(edge, true); // it may grow under the edge: what begins in view is held rather
      if (next) [line, inner] = [next, next];
    }
    const top = inner.getBoundingClientRect().top - edge;
    const lineTop = line.getBoundingClientRect().top - edge;
    this.#held = { id: line.dataset.line ?? "", element: inner, top, line: lineTop };
    this.#aimed = false;
  }

  /** Nothing of what is looked at is drawn yet: where it should be has to do. */
  #holdUnseen(top: number): void {
    const index = this.heights.at(top - this.head - this.#debt);
    const line = this.head + this.#debt + this.heights.top(index) - top;
    this.#held = { id: this.lines[index]?.id ?? "", element: null, top: line, line };
    this.#aimed = false;
  }

  /** Somebody opens or closes something: it stays under the pointer, at the end of the list too. */
  touch(element: HTMLElement): void {
    this.hold(element);
    this.#pin(false);
  }

  /** After what was opened or closed is drawn: at the end again, it is followed again. */
  touched(): void {
    const scroller = this.#scroller;
    if (scroller && scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop <= AT_END)
      this.#pin(true);
  }

  toEnd(): void {
    this.#held = null;
    this.#pin(true);
    this.#changed();
    this.settle();
  }

  /** Bring a line to where it can be read; `top` is how far below the upper edge. Needs a drawing to take effect. */
  aim(id: string, top: number): boolean {
    const index = this.indexOf(id);
    if (index < 0) return false;
    this.#held = { id: this.lines[index]?.id ?? id, element: null, top, line: top };
    this.#aimed = true;
    this.#pin(false);
    this.#changed();
    return true;
  }

  /** The same for an element that is drawn: a row within a group. */
  bring(element: HTMLElement, top: number): void {
    this.hold(element);
    if (!this.#held) return;
    this.#held = { ...this.#held, top };
    this.#pin(false);
    this.settle();
    this.hold(element);
    this.touched();
  }

  place(): Place {
    const held = this.#held;
    return {
      pinned: this.pinned,
      id: held?.id ?? "",
      top: this.sees(held?.id ?? "")?.top ?? held?.line ?? 0,
    };
  }

  indexOf(id: string): number {
    const near = this.#near(id);
    return near >= 0 ? near : this.lines.findIndex((line) => line.id === id || line.rows.includes(id));
  }

  /** Where a line is drawn, below the upper edge; nothing if it is not. */
  sees(id: string): { top: number; bottom: number; room: number } | null {
    const element = this.#elements.get(id);
    const scroller = this.#scroller;
    if (!element || !scroller) return null;
    const edge = scroller.getBoundingClientRect().top;
    const { top, bottom } = element.getBoundingClientRect();
    return { top: top - edge, bottom: bottom - edge, room: scroller.clientHeight };
  }

  #restore(scroller: HTMLElement, held: Held): void {
    const line = this.#elements.get(held.id);
    if (!line) {
      const index = this.indexOf(held.id);
      if (index >= 0) this.#write(scroller, this.head + this.#debt + this.heights.top(index) - held.line);
      return;
    }
    const element = held.element?.isConnected ? held.element : line;
    const off = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top - held.top;
    if (Math.abs(off) >= 0.5) this.#correct(scroller, off);
    if (!this.#aimed) return;
    this.#aimed = false;
    this.hold(line);
    this.touched();
  }

  #correct(scroller: HTMLElement, off: number): void {
    const moving = performance.now() - this.#moved < STILL;
    if (!moving || this.#aimed || Math.abs(off) > FAR) return this.#write(scroller, scroller.scrollTop + off);
    const missing = off - this.above;
    this.#debt -= Math.min(off, this.above);
    this.#makeRoom();
    if (missing > 0) this.hold(); // no room left near the top: what moves is in motion anyway
  }

  #moves(): void {
    this.#moved = performance.now();
    window.clearTimeout(this.#rest);
    this.#rest = window.setTimeout(() => {
      if (this.#debt === 0) return;
      this.#pay();
      this.settle();
    }, STILL + 20);
  }

  #pay(): void {
    if (this.#debt === 0) return;
    this.#debt = 0;
    this.#makeRoom();
  }

  /** At once, not with the next drawing: nothing may be seen of it. */
  #makeRoom(): void {
    const list = this.#scroller?.querySelector<HTMLElement>("[role=feed]");
    if (list) list.style.paddingTop = `${this.above}px`;
  }

  #write(scroller: HTMLElement, top: number): void {
    if (Math.abs(scroller.scrollTop - top) < 0.5) return;
    scroller.scrollTop = top;
    this.#written = scroller.scrollTop;
    this.#last = this.#written;
  }

  #pin(pinned: boolean): void {
    if (pinned === this.pinned) return;
    this.pinned = pinned;
    if (pinned) this.#held = null;
    this.#changed();
  }

  /** From where to where one looks, in pixels of the list. */
  #view(moved = false): { from: number; to: number } {
    const height = this.#scroller?.clientHeight || 900;
    const end = this.heights.total() + this.head + this.#debt;
    let from = this.#scroller?.scrollTop ?? 0;
    if (this.pinned) from = Math.max(0, end - height);
    else if (this.#held && (moved || this.#aimed || !this.#elements.has(this.#held.id))) {
      const index = this.indexOf(this.#held.id);
      if (index >= 0) from = Math.max(0, this.head + this.#debt + this.heights.top(index) - this.#held.line);
    }
    const lead = this.head + this.#debt;
    return { from: from - lead, to: from - lead + height };
  }

  #covers(margin: number): boolean {
    const { from, to } = this.#view();
    const { start, end } = this.span;
    const above = start === 0 || this.heights.top(start) <= from - margin;
    const below = end >= this.lines.length || this.heights.top(end) >= to + margin;
    return above && below;
  }

  #wanted(anew: boolean): Span {
    const count = this.lines.length;
    const { start, end } = this.span;
    // Lines come one by one at the end: they are added to what is drawn, and what is far above is let go now and then.
    if (!anew && end > 0 && end <= count && count - end < 50 && this.pinned) {
      const span = { start, end: count };
      const drawn = this.heights.top(count) - this.heights.top(start);
      const height = this.#scroller?.clientHeight || 900;
      if (drawn > height + NEAR && drawn < height + 3 * BEYOND) return span;
    }
    if (!anew && end <= count && end > start && this.#covers(NEAR)) return this.span;
    const { from, to } = this.#view(anew);
    return { start: this.heights.at(from - BEYOND), end: Math.min(count, this.heights.at(to + BEYOND) + 1) };
  }

  #near(id: string): number {
    for (let index = this.span.start; index < this.span.end; index += 1)
      if (this.lines[index]?.id === id) return index;
    return -1;
  }

  /** The first line that is seen, or, `whole`, that begins in the upper half of what is seen. */
  #firstSeen(edge: number, whole = false): HTMLElement | undefined {
    for (let index = this.span.start; index < this.span.end; index += 1) {
      const element = this.#elements.get(this.lines[index]?.id ?? "");
      const { top, bottom } = element?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
      if (whole && top >= edge) return top < edge + this.#room.height / 2 ? element : undefined;
      if (!whole && bottom > edge + 1) return element;
    }
    return undefined;
  }
}
