import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffTexts } from "@/diff/lines";
import { merged, proposalOf } from "./hunks";

const lines = fc.array(fc.constantFrom("a", "b", "c", "", "\t", "x\r"), { maxLength: 40 });
const texts = fc
  .tuple(lines, fc.boolean())
  .map(([all, ended]) => all.join("\n") + (ended && all.length > 0 ? "\n" : ""));

describe("hunks that are taken or left", () => {
  it("give the new text when all are taken and the old one when all are left", () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const hunks = diffTexts(before, after, 3);
        expect(merged(before, hunks, new Set())).toBe(after);
        expect(merged(before, hunks, new Set(hunks.keys()))).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  it("leave only what is not wanted", () => {
    const before = Array.from({ length: 30 }, (_, index) => `line ${index}\n`).join("");
    const after = before.replace("line 2\n", "two\n").replace("line 25\n", "");
    const proposal = proposalOf("Write", { file_path: "/x", content: after }, before);
    expect(proposal?.hunks).toHaveLength(2);
    expect(proposal?.without(new Set([1]))?.content).toBe(before.replace("line 2\n", "two\n"));
    expect(proposal?.without(new Set([0]))?.content).toBe(before.replace("line 25\n", ""));
    expect(proposal?.without(new Set([0, 1]))).toBeNull();
    expect(proposal?.without(new Set())).toEqual({ file_path: "/x", content: after });
  });

  it("stand at the lines of the file, where an edit is found in it", () => {
    const file = "one\ntwo\nthree\nfour\n";
    const input = { file_path: "/x", old_string: "three\n", new_string: "drei\n", replace_all: false };
    const proposal = proposalOf("Edit", input, file);
    expect(proposal?.hunks[0]?.lines.map((line) => line.old ?? line.now)).toEqual([3, 3]);
    expect(proposal?.without(new Set())).toEqual(input);
  });

  it("are none for other tools and for inputs that are not as they should be", () => {
    expect(proposalOf("Bash", { command: "ls" }, null)).toBeNull();
    expect(proposalOf("Edit", { file_path: 3 }, null)).toBeNull();
    expect(proposalOf("Write", { file_path: "/new", content: "x" }, null)).toBeNull();
  });
});

describe("an edit of every occurrence", () => {
  const input = { file_path: "a", old_string: "x", new_string: "y", replace_all: true };

  it("says so, and at how many places", () => {
    expect(proposalOf("Edit", input, "x x\nx")?.about).toContain("every occurrence in the file: 3 places");
    expect(proposalOf("Edit", input, null)?.about).toContain("every occurrence");
  });

  it("is not said of an edit of one place", () => {
    expect(proposalOf("Edit", { ...input, replace_all: false }, "x x")?.about).toBe("");
  });
});
