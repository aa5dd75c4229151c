import { describe, expect, it } from "vitest";
import type { DiffFile } from "@/api/types";
import { compared } from "./files";

const file = (path: string, added: number): DiffFile => ({ path, status: "modified", added }) as DiffFile;

describe("files of several sessions", () => {
  it("stand beside each other, those most of them touched first", () => {
    const found = compared([
      [file("b.py", 1), file("a.py", 2)],
      undefined,
      [file("b.py", 3), file("c.py", 4)],
    ]);
    expect(found.map((each) => [each.path, each.of.map((one) => one?.added ?? 0)])).toEqual([
      ["b.py", [1, 0, 3]],
      ["a.py", [2, 0, 0]],
      ["c.py", [0, 0, 4]],
    ]);
  });

  it("are none where nothing changed", () => {
    expect(compared([[], []])).toEqual([]);
  });
});
