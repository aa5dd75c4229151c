/** The log as it is, by kinds of entries. */
import type { Entry } from "@/stream/frames";

/** Which of the entries are wanted, kept as places: extended by what is new, never looked through twice. */
export class Filtered {
  readonly kinds = new Map<string, number>();
  #places: number[] = [];
  #kind = "";
  #seen = 0;
  #first = 0;

  /** The places of entries of a kind, all of them for an empty one. The list is the same one, and grows. */
  places(entries: readonly Entry[], kind: string): readonly number[] {
    const first = entries[0]?.seq ?? 0;
    const anew = first !== this.#first || entries.length < this.#seen;
    if (anew) {
      this.kinds.clear();
      this.#seen = 0;
    }
    const from = anew || kind !== this.#kind ? 0 : this.#seen;
    if (from === 0) this.#places = [];
    for (let place = from; place < entries.length; place += 1) {
      const entry = entries[place];
      if (!entry) continue;
      const { type } = entry.event;
      if (place >= this.#seen) this.kinds.set(type, (this.kinds.get(type) ?? 0) + 1);
      if (!kind || type === kind) this.#places.push(place);
    }
    this.#seen = entries.length;
    this.#first = first;
    this.#kind = kind;
    return this.#places;
  }
}

/** One line that tells an entry from others of its kind. */
export function summary(entry: Entry): string {
  const event = entry.event as unknown as Record<string, unknown>;
  const words = [
    pick(event.name),
    pick(event.hook),
    pick((event.block as { type?: unknown; name?: unknown } | undefined)?.name),
    pick((event.block as { type?: unknown } | undefined)?.type),
    pick(event.kind),
    pick(event.outcome),
    pick(event.ending),
    pick(event.mode),
    pick(event.model),
    progress(event.tasks),
    pick(event.text) || pick((event.block as { text?: unknown } | undefined)?.text),
  ].filter(Boolean);
  return words.join(" · ").replace(/\s+/g, " ").slice(0, 160);
}

function progress(tasks: unknown): string {
  if (!Array.isArray(tasks)) return "";
  return `${tasks.filter((task) => task?.status === "completed").length} of ${tasks.length} done`;
}

function pick(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 120) : "";
}
