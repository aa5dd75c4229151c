import { describe, expect, it } from "vitest";
import type { DiffFile } from "@/api/types";
import { modeText, noHunksText, statusLabel, totalOf } from "./fileLabels";

const file = (more: Partial<DiffFile>): DiffFile => ({ path: "a", status: "modified", ...more }) as DiffFile;

describe("what is said of a changed file", () => {
  it("is nothing where there are lines to show", () => {
    expect(noHunksText(file({ view: "text" }))).toBe("");
    expect(noHunksText(file({}))).toBe("");
  });

  it("tells a binary file with its size", () => {
    expect(noHunksText(file({ view: "binary", size: 2048 }))).toBe("Binary file, 2.0 KB.");
  });

  it("tells what a mode means", () => {
    const made = file({ view: "mode_only", old_mode: "100644", new_mode: "100755" });
    expect(noHunksText(made)).toBe("Only the mode changed: now executable.");
    expect(modeText(file({ old_mode: "100644", new_mode: "100644" }))).toBe("");
    expect(modeText(file({ old_mode: "100644", new_mode: "120000" }))).toBe("100644 to 120000");
  });

  it("has words for a status that a newer server may send", () => {
    expect(statusLabel(file({ status: "strange" as DiffFile["status"] })).letter).toBe("M");
  });

  it("adds up", () => {
    expect(totalOf([file({ added: 2, removed: 1 }), file({ added: 3 })])).toEqual({ added: 5, removed: 1 });
  });
});
