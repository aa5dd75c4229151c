/** Filters the log by event type. */
import type { Entry } from "@/stream/frames";

/** Indices of matching entries, extended incrementally. */
export class Filtered {
  readonly kinds = new Map<string, number>();
  #indices: number[] = [];
  #kind = "";
  #seen = 0;
  #first = 0;

  /** Indices of the entries of a type, or of all. Returns the same array, extended. */
  indices(entries: readonly Entry[], kind: string): readonly number[] {
    const first = entries[0]?.seq ?? 0;
    const anew = first !== this.#first || entries.length < this.#seen;
    if (anew) {
      this.kinds.clear();
      this.#seen = 0;
    }
    const from = anew || kind !== this.#kind ? 0 : this.#seen;
    if (from === 0) this.#indices = [];
    for (let position = from; position < entries.length; position += 1) {
      const entry = entries[position];
      if (!entry) continue;
      const { type } = entry.event;
      if (position >= this.#seen) this.kinds.set(type, (this.kinds.get(type) ?? 0) + 1);
      if (!kind || type === kind) this.#indices.push(position);
    }
    this.#seen = entries.length;
    this.#first = first;
    this.#kind = kind;
    return this.#indices;
  }
}

/** One-line summary of an entry. */
export function summary(entry: Entry): string {
  const event = entry.event as unknown as Record<string, unknown>;
  const pieces = [
    pick(event.name),
    pick(event.hook),
    pick((event.block as { type?: unknown; name?: unknown } | undefined)?.name),
    pick((event.block as { type?: unknown } | undefined)?.type),
    pick(event.kind),
    pick(event.outcome),
    event.type === "hook_ran" ? milliseconds(event.duration_ms) : "",
    pick(event.ending),
    pick(event.mode),
    pick(event.model),
    progress(event.tasks),
    pick(event.text) || pick((event.block as { text?: unknown } | undefined)?.text),
  ].filter(Boolean);
  return pieces.join(" · ").replace(/\s+/g, " ").slice(0, 160);
}

function progress(tasks: unknown): string {
  if (!Array.isArray(tasks)) return "";
  return `${tasks.filter((task) => task?.status === "completed").length} of ${tasks.length} done`;
}

function milliseconds(value: unknown): string {
  return typeof value === "number" && value > 0 ? `${value} ms` : "";
}

function pick(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 120) : "";
}
