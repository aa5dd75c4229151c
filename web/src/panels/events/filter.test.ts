import { describe, expect, it } from "vitest";
import type { Entry } from "@/stream/frames";
import { Filtered, summary } from "./filter";

const entry = (seq: number, event: object): Entry => ({ seq, event }) as unknown as Entry;

describe("the log by kinds", () => {
  it("is all of it, or one kind, and grows by what is new", () => {
    const filtered = new Filtered();
    const entries = [entry(1, { type: "a" }), entry(2, { type: "b" }), entry(3, { type: "a" })];
    expect(filtered.indices(entries, "")).toEqual([0, 1, 2]);
    expect(filtered.indices(entries, "a")).toEqual([0, 2]);
    entries.push(entry(4, { type: "a" }), entry(5, { type: "c" }));
    expect(filtered.indices(entries, "a")).toEqual([0, 2, 3]);
    expect([...filtered.kinds]).toEqual([
      ["a", 3],
      ["b", 1],
      ["c", 1],
    ]);
  });

  it("is counted anew when older entries came before it", () => {
    const filtered = new Filtered();
    filtered.indices([entry(5, { type: "a" })], "");
    expect(filtered.indices([entry(4, { type: "b" }), entry(5, { type: "a" })], "")).toEqual([0, 1]);
    expect(filtered.kinds.get("a")).toBe(1);
  });

  it("gives the same list while nothing changes", () => {
    const filtered = new Filtered();
    const entries = [entry(1, { type: "a" })];
    expect(filtered.indices(entries, "")).toBe(filtered.indices(entries, ""));
  });

  it("tells entries apart in one line", () => {
    expect(summary(entry(1, { type: "tool_done", name: "Bash" }))).toBe("Bash");
    expect(summary(entry(1, { type: "block_done", block: { type: "text", text: "a\n b" } }))).toBe(
      "text · a b",
    );
  });
});
