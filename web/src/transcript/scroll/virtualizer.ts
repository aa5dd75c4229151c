/**
 * Virtualizer with scroll anchoring. Pinned to the end, the list stays at the end while it grows. Elsewhere an anchor
 * element keeps its position on the screen, whatever is loaded, measured, expanded or collapsed above it.
 */
import type { Heights } from "@/ui/rows/heights";
import { type Anchor, innermost, type ListLine, lineAfterChange, type Position, type Span } from "./anchor";
import { AT_END, MAX_DEFERRED, NEAR, OVERSCAN, REST_MS, ROUNDS } from "./limits";

export class Virtualizer {
  pinned = true;
  span: Span = { start: 0, end: 0 };
  lines: readonly ListLine[] = [];
  readonly heights: Heights;
  /** Pixels above the first line. */
  head: number;
  /** Correction added to the padding while scrolling: setting scrollTop would stop the momentum. Applied at rest. */
  #pendingOffset = 0;
  #movedAt = Number.NEGATIVE_INFINITY;
  #restTimer = 0;
  #rounds = 0;
  /** Scrolled past the rendered lines: set the anchor after the next render. */
  #anchorStale = false;

  #scroller: HTMLElement | null = null;
  #anchor: Anchor | null = null;
  #targeting = false;
  #firstId: string | undefined;
  #lastTop = 0;
  #writtenTop = -1;
  #viewportSize = { width: 0, height: 0 };
  readonly #elements = new Map<string, HTMLElement>();
  readonly #onChange: () => void;

  /** `onChange` is called when other lines have to be rendered, and when `pinned` changes. */
  constructor(heights: Heights, head: number, onChange: () => void) {
    this.heights = heights;
    this.head = head;
    this.#onChange = onChange;
  }

  /** Restores a saved position. */
  restore(position: Position): void {
    this.pinned = false;
    this.#anchor = { id: position.id, element: null, top: position.top, lineTop: position.top };
    this.#targeting = true;
  }

  attach(scroller: HTMLElement): void {
    this.#scroller = scroller;
    this.#viewportSize = { width: scroller.clientWidth, height: scroller.clientHeight };
  }

  detach(): void {
    window.clearTimeout(this.#restTimer);
    this.#scroller = null;
  }

  /** Padding above the first rendered line. */
  get paddingTop(): number {
    return this.#offsetOf(this.span.start);
  }

  mounted(id: string, element: HTMLElement): void {
    this.#elements.set(id, element);
  }

  unmounted(id: string, element: HTMLElement): void {
    if (this.#elements.get(id) === element) this.#elements.delete(id);
  }

  get root(): HTMLElement | null {
    return this.#scroller;
  }

  elementOf(id: string): HTMLElement | undefined {
    return this.#elements.get(id);
  }

  /** Sets the lines and returns those to render. Called while rendering. */
  setLines(lines: readonly ListLine[]): Span {
    const before = this.lines;
    this.lines = lines;
    const moved = lines[0]?.id !== this.#firstId || lines.length < this.heights.count;
    this.#firstId = lines[0]?.id;
    this.heights.setLines(lines);
    if (moved && this.#anchor)
      this.#anchor.id = lineAfterChange(this.#anchor.id, this.indexOf(this.#anchor.id), before, lines);
    this.span = this.#computeSpan(moved || this.#targeting);
    // The padding cannot be negative.
    this.#pendingOffset = Math.max(this.#pendingOffset, -this.head - this.heights.top(this.span.start));
    return this.span;
  }

  /** After a render or a resize: restores the anchor, or stays at the end. */
  settle(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    this.#viewportSize = { width: scroller.clientWidth, height: scroller.clientHeight };
    if (this.pinned) {
      this.#applyPendingOffset();
      this.#setScrollTop(scroller, scroller.scrollHeight - scroller.clientHeight);
    } else if (this.#anchor) this.#restoreAnchor(scroller, this.#anchor);
    if (this.#coversViewport(NEAR)) {
      this.#rounds = 0;
      if (this.#anchorStale && !this.pinned) this.setAnchor();
      this.#anchorStale = false;
    } else if (this.#rounds++ < ROUNDS) this.#onChange();
  }

  measured(id: string, size: number): void {
    const index = this.#indexInSpan(id);
    if (index >= 0) this.heights.measure(index, size);
  }

  /** Handles a scroll event, by the user or by the browser. */
  onScroll(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const { clientWidth: width, clientHeight: height } = scroller;
    if (width !== this.#viewportSize.width || height !== this.#viewportSize.height) return this.settle();
    const top = scroller.scrollTop;
    const up = top < this.#lastTop;
    const ours = Math.abs(top - this.#writtenTop) < 1;
    this.#lastTop = top;
    if (!ours) {
      this.#writtenTop = -1;
      this.#noteMovement();
      const left = scroller.scrollHeight - height - top;
      this.#setPinned(left <= AT_END || (this.pinned && !up));
      if (!this.pinned) this.setAnchor();
      // At the very top, keep the top, whatever the heights turn out to be.
      if (top <= 0 && !this.pinned) this.scrollToLine(this.lines[0]?.id ?? "", this.head);
    }
    this.#rounds = 0;
    this.#anchorStale = !this.#coversViewport(NEAR);
    if (this.#anchorStale) this.#onChange();
  }

  /** Anchors the first visible element, or the given one. */
  setAnchor(element?: HTMLElement): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const edge = scroller.getBoundingClientRect().top;
    let line = element?.closest<HTMLElement>("[data-line]") ?? this.#firstVisible(edge);
    if (!line) return this.#anchorByEstimate(scroller.scrollTop);
    let inner = element ?? innermost(line, edge);
    if (!element && inner.getBoundingClientRect().top < edge) {
      const next = this.#firstVisible(edge, true); // it may grow: prefer a line that begins in view
      if (next) [line, inner] = [next, next];
    }
    const top = inner.getBoundingClientRect().top - edge;
    const lineTop = line.getBoundingClientRect().top - edge;
    this.#anchor = { id: line.dataset.line ?? "", element: inner, top, lineTop };
    this.#targeting = false;
  }

  /** Anchor by estimated offset, while nothing in view is rendered. */
  #anchorByEstimate(top: number): void {
    const index = this.heights.indexAt(top - this.head - this.#pendingOffset);
    const lineTop = this.#offsetOf(index) - top;
    this.#anchor = { id: this.lines[index]?.id ?? "", element: null, top: lineTop, lineTop };
    this.#targeting = false;
  }

  /** Before expanding or collapsing: keeps the element under the pointer, also at the end of the list. */
  beforeToggle(element: HTMLElement): void {
    this.setAnchor(element);
    this.#setPinned(false);
  }

  /** After that has rendered: pins again if the list is at its end. */
  afterToggle(): void {
    const scroller = this.#scroller;
    if (scroller && scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop <= AT_END)
      this.#setPinned(true);
  }

  scrollToEnd(): void {
    this.#anchor = null;
    this.#setPinned(true);
    this.#onChange();
    this.settle();
  }

  /** Scrolls a line to `top` pixels below the top edge, with the next render. */
  scrollToLine(id: string, top: number): boolean {
    const index = this.indexOf(id);
    if (index < 0) return false;
    this.#anchor = { id: this.lines[index]?.id ?? id, element: null, top, lineTop: top };
    this.#targeting = true;
    this.#setPinned(false);
    this.#onChange();
    return true;
  }

  /** The same for a rendered element, such as a row in a group. */
  scrollToElement(element: HTMLElement, top: number): void {
    this.setAnchor(element);
    if (!this.#anchor) return;
    this.#anchor = { ...this.#anchor, top };
    this.#setPinned(false);
    this.settle();
    this.setAnchor(element);
    this.afterToggle();
  }

  position(): Position {
    const id = this.#anchor?.id ?? "";
    return { pinned: this.pinned, id, top: this.visibleRect(id)?.top ?? this.#anchor?.lineTop ?? 0 };
  }

  indexOf(id: string): number {
    const near = this.#indexInSpan(id);
    return near >= 0 ? near : this.lines.findIndex((line) => line.id === id || line.rows.includes(id));
  }

  /** Position of a rendered line below the top edge; null if it is not rendered. */
  visibleRect(id: string): { top: number; bottom: number; room: number } | null {
    const element = this.#elements.get(id);
    const scroller = this.#scroller;
    if (!element || !scroller) return null;
    const edge = scroller.getBoundingClientRect().top;
    const { top, bottom } = element.getBoundingClientRect();
    return { top: top - edge, bottom: bottom - edge, room: scroller.clientHeight };
  }

  #restoreAnchor(scroller: HTMLElement, anchor: Anchor): void {
    const line = this.#elements.get(anchor.id);
    if (!line) {
      const index = this.indexOf(anchor.id);
      if (index >= 0) this.#setScrollTop(scroller, this.#offsetOf(index) - anchor.lineTop);
      return;
    }
    const element = anchor.element?.isConnected ? anchor.element : line;
    const edge = scroller.getBoundingClientRect().top;
    const off = () => element.getBoundingClientRect().top - edge - anchor.top;
    if (Math.abs(off()) >= 0.5) this.#correctBy(scroller, off());
    if (!this.#targeting) {
      // The list is too short for that, or a line above came into view: what is read now must not move either.
      const above = element === line && this.#firstVisible(edge, true) !== line;
      if (above || Math.abs(off()) >= 0.5) this.setAnchor();
      return;
    }
    this.#targeting = false;
    this.setAnchor(line);
    this.afterToggle();
  }

  #correctBy(scroller: HTMLElement, off: number): void {
    const moving = performance.now() - this.#movedAt < REST_MS;
    if (!moving || this.#targeting || Math.abs(off) > MAX_DEFERRED)
      return this.#setScrollTop(scroller, scroller.scrollTop + off);
    this.#pendingOffset -= Math.min(off, this.paddingTop); // with no padding left near the top, let it move
    this.#updatePadding();
  }

  #noteMovement(): void {
    this.#movedAt = performance.now();
    window.clearTimeout(this.#restTimer);
    this.#restTimer = window.setTimeout(() => {
      if (this.#pendingOffset === 0) return;
      this.#applyPendingOffset();
      this.settle();
    }, REST_MS + 20);
  }

  #applyPendingOffset(): void {
    if (this.#pendingOffset === 0) return;
    this.#pendingOffset = 0;
    this.#updatePadding();
  }

  /** At once, not with the next render, so that nothing flickers. */
  #updatePadding(): void {
    const list = this.#scroller?.querySelector<HTMLElement>("[role=feed]");
    if (list) list.style.paddingTop = `${this.paddingTop}px`;
  }

  #setScrollTop(scroller: HTMLElement, top: number): void {
    if (Math.abs(scroller.scrollTop - top) < 0.5) return;
    scroller.scrollTop = top;
    this.#writtenTop = scroller.scrollTop;
    this.#lastTop = this.#writtenTop;
  }

  #setPinned(pinned: boolean): void {
    if (pinned === this.pinned) return;
    this.pinned = pinned;
    if (pinned) this.#anchor = null;
    this.#onChange();
  }

  /** Offset of a line in the scrolling element. */
  #offsetOf(index: number): number {
    return this.head + this.heights.top(index) + this.#pendingOffset;
  }

  /** The visible range in pixels of the list. */
  #viewport(moved = false): { from: number; to: number } {
    const height = this.#scroller?.clientHeight || 900;
    const end = this.heights.total() + this.head + this.#pendingOffset;
    let from = this.#scroller?.scrollTop ?? 0;
    if (this.pinned) from = Math.max(0, end - height);
    else if (this.#anchor && (moved || this.#targeting || !this.#elements.has(this.#anchor.id))) {
      const index = this.indexOf(this.#anchor.id);
      if (index >= 0) from = Math.max(0, this.#offsetOf(index) - this.#anchor.lineTop);
    }
    const lead = this.head + this.#pendingOffset;
    return { from: from - lead, to: from - lead + height };
  }

  #coversViewport(margin: number): boolean {
    const { from, to } = this.#viewport();
    const { start, end } = this.span;
    if (start > 0 && this.heights.top(start) > from - margin) return false;
    return end >= this.lines.length || this.heights.top(end) >= to + margin;
  }

  #computeSpan(reset: boolean): Span {
    const count = this.lines.length;
    const { start, end } = this.span;
    // Lines are appended one by one: extend the span, and drop lines far above only now and then.
    if (!reset && end > 0 && end <= count && count - end < 50 && this.pinned) {
      const drawn = this.heights.top(count) - this.heights.top(start);
      const height = this.#scroller?.clientHeight || 900;
      if (drawn > height + NEAR && drawn < height + 3 * OVERSCAN) return { start, end: count };
    }
    if (!reset && end <= count && end > start && this.#coversViewport(NEAR)) return this.span;
    const { from, to } = this.#viewport(reset);
    const last = this.heights.indexAt(to + OVERSCAN);
    return { start: this.heights.indexAt(from - OVERSCAN), end: Math.min(count, last + 1) };
  }

  #indexInSpan(id: string): number {
    for (let index = this.span.start; index < this.span.end; index += 1)
      if (this.lines[index]?.id === id) return index;
    return -1;
  }

  /** The first visible line, or, with `whole`, the first that begins in the upper half of the viewport. */
  #firstVisible(edge: number, whole = false): HTMLElement | undefined {
    for (let index = this.span.start; index < this.span.end; index += 1) {
      const element = this.#elements.get(this.lines[index]?.id ?? "");
      const { top, bottom } = element?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
      if (whole && top >= edge) return top < edge + this.#viewportSize.height / 2 ? element : undefined;
      if (!whole && bottom > edge + 1) return element;
    }
    return undefined;
  }
}
