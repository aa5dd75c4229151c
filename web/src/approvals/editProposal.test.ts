import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffTexts } from "@/diff/lines";
import { merged, proposalOf } from "./editProposal";

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
    const changed = proposal?.hunks[0]?.lines.filter((line) => line.kind !== "same");
    expect(changed?.map((line) => line.old ?? line.now)).toEqual([3, 3]);
    expect(proposal?.without(new Set())).toEqual(input);
  });

  it("are none for other tools and for inputs that are not as they should be", () => {
    expect(proposalOf("Bash", { command: "ls" }, null)).toBeNull();
    expect(proposalOf("Edit", { file_path: 3 }, null)).toBeNull();
    expect(proposalOf("Write", { file_path: "/new", content: "x" }, null)).toBeNull();
  });
});

describe("an edit in its file", () => {
  const file = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join("");
  const signs = { same: " ", added: "+", removed: "-" };
  const drawn = (input: object, text: string | null, tool = "Edit") =>
    proposalOf(tool, { file_path: "/x", ...input }, text)?.hunks.map((hunk) =>
      hunk.lines.map((line) => signs[line.kind] + line.text),
    );

  it("is shown in whole lines, with three around and its words marked", () => {
    const readme = "# shop\n\nSells things.\n\nRun it:\n";
    const input = { old_string: "# ", new_string: "# The " };
    expect(drawn(input, readme)).toEqual([["-# shop", "+# The shop", " ", " Sells things.", " "]]);
    const lines = proposalOf("Edit", { file_path: "/x", ...input }, readme)?.hunks[0]?.lines;
    expect(lines?.[1]?.words?.some((word) => word.text.includes("The"))).toBe(true);
    expect(drawn({ old_string: "e 20", new_string: "E 20" }, file)?.[0]).toHaveLength(8);
  });

  it("is shown at each place where it is done everywhere, and then taken or left as a whole", () => {
    const input = { file_path: "/x", old_string: "line 3", new_string: "row 3", replace_all: true };
    const proposal = proposalOf("Edit", input, file);
    const added = proposal?.hunks.flatMap((hunk) => hunk.lines).filter((line) => line.kind === "added");
    expect(added).toHaveLength(11);
    expect(proposal?.divisible).toBe(false);
  });

  it("can be taken in part, and changes nothing but what it replaces", () => {
    const old_string = file.slice(0, file.indexOf("line 31"));
    const new_string = old_string.replace("line 2\n", "two\n").replace("line 25\n", "");
    const proposal = proposalOf("Edit", { file_path: "/x", old_string, new_string }, file);
    expect(proposal?.hunks).toHaveLength(2);
    expect(proposal?.without(new Set([1]))?.new_string).toBe(old_string.replace("line 2\n", "two\n"));
  });

  it("is shown as it was asked for where the file does not have it, or has it twice", () => {
    for (const text of [null, "other\n", "a b a b"])
      expect(drawn({ old_string: "a b", new_string: "c" }, text)).toEqual([["-a b", "+c"]]);
  });

  it("of several at once is shown together", () => {
    const edits = [
      { old_string: "line 1\n", new_string: "one\n" },
      { old_string: "one\n", new_string: "uno\n" },
    ];
    expect(drawn({ edits }, "line 1\nline 2\n", "MultiEdit")).toEqual([["-line 1", "+uno", " line 2"]]);
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
