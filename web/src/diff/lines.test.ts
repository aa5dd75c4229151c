/** The diff is right whatever the texts are: put on the old text it gives the new one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Hunk } from "@/api/types";
import { changesOf } from "./changes";
import { countOf, type DiffHunk, diffTexts, linesOf, parseHunk, parsePatch } from "./lines";
import { splitRows } from "./split";
import { diffWords } from "./wordDiff";

const line = fc.oneof(
  fc.constantFrom("", "a", "b", "return x", "return y", "}", "\t\tif (x) {", "å̈ 漢字 ابج", "\r", "x\r"),
  fc.string({ maxLength: 12 }).map((text) => text.replaceAll("\n", "")),
);
const text = fc
  .tuple(fc.array(line, { maxLength: 40 }), fc.boolean())
  .map(([lines, ended]) => lines.join("\n") + (ended && lines.length > 0 ? "\n" : ""));

/** Two texts of which the second is the first with a few lines changed. */
const pair = fc
  .tuple(
    fc.array(line, { maxLength: 60 }),
    fc.array(fc.tuple(fc.nat(60), fc.nat(4), fc.array(line, { maxLength: 4 }))),
  )
  .map(([lines, cuts]) => {
    const after = [...lines];
    for (const [at, gone, come] of cuts) after.splice(at, gone, ...come);
    return [lines.join("\n"), after.join("\n")] as const;
  });

function applied(before: string, hunks: DiffHunk[]): string {
  const old = linesOf(before);
  const made: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const first = hunk.lines.find((each) => each.old !== null)?.old ?? null;
    const start = first !== null ? first - 1 : at;
    made.push(...old.slice(at, start));
    at = start;
    for (const each of hunk.lines) {
      const raw = each.bare ? each.text : `${each.text}\n`;
      if (each.kind !== "removed") made.push(raw);
      if (each.kind !== "added") {
        if (old[at] !== raw) throw new Error(`line ${at + 1} is ${old[at]}, not ${raw}`);
        at += 1;
      }
    }
  }
  return [...made, ...old.slice(at)].join("");
}

describe("a diff of two texts", () => {
  it("gives the new text when it is put on the old one", () => {
    const either = fc.oneof(pair, fc.tuple(text, text));
    fc.assert(
      fc.property(either, fc.constantFrom(1, 3, 10, Number.POSITIVE_INFINITY), ([before, after], context) => {
        expect(applied(before, diffTexts(before, after, context))).toBe(after);
      }),
      { numRuns: 300 },
    );
  });

  it("numbers old and new lines as they stand in the texts", () => {
    fc.assert(
      fc.property(pair, ([before, after]) => {
        const old = linesOf(before);
        const now = linesOf(after);
        for (const hunk of diffTexts(before, after)) {
          for (const each of hunk.lines) {
            const raw = each.bare ? each.text : `${each.text}\n`;
            if (each.old !== null) expect(old[each.old - 1]).toBe(raw);
            if (each.now !== null) expect(now[each.now - 1]).toBe(raw);
          }
        }
      }),
    );
  });

  it("is nothing for the same text, and everything for a new one", () => {
    expect(diffTexts("a\nb\n", "a\nb\n")).toEqual([]);
    expect(diffTexts("", "a\nb\n")[0]?.lines.map((each) => [each.kind, each.now])).toEqual([
      ["added", 1],
      ["added", 2],
    ]);
    expect(diffTexts("", "")).toEqual([]);
  });

  it("leaves out what is far from any change and keeps three lines around one", () => {
    const before = Array.from({ length: 100 }, (_, at) => `line ${at + 1}`).join("\n");
    const hunks = diffTexts(before, before.replace("line 20\n", "line twenty\n").replace("line 80\n", ""));
    expect(hunks.map((hunk) => [hunk.oldStart, hunk.newStart, hunk.lines.length])).toEqual([
      [17, 17, 8],
      [77, 77, 7],
    ]);
  });

  it("says where a newline at the end came or went", () => {
    const [hunk] = diffTexts("a\nb", "a\nb\n");
    expect(hunk?.lines.slice(1)).toEqual([
      { kind: "removed", old: 2, now: null, text: "b", bare: true },
      { kind: "added", old: null, now: 2, text: "b" },
    ]);
  });

  it("keeps carriage returns, so that a change of line ends is one", () => {
    const lines = diffTexts("a\r\nb\r\n", "a\nb\r\n").flatMap((hunk) => hunk.lines);
    expect(lines.map((each) => [each.kind, each.text])).toEqual([
      ["removed", "a\r"],
      ["added", "a"],
      ["same", "b\r"],
    ]);
  });
});

describe("large texts", () => {
  const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}`);
  const took = (work: () => void) => {
    work();
    const began = process.cpuUsage();
    work();
    return process.cpuUsage(began).user / 1000;
  };

  // People feel 50 ms; what is measured is the processor's time with all its collecting of garbage, so it may be more.
  it.each([
    ["with every tenth line changed", (at: number) => (at % 10 === 0 ? `new ${at}` : `old ${at}`)],
    ["with nothing in common", (at: number) => `new ${at}`],
    ["turned around", (at: number) => `old ${9_999 - at}`],
    ["of lines that all repeat", (at: number) => (at % 7 === 0 ? "{" : "}")],
  ])("of 10,000 lines %s do not hold up the page", (_, made) => {
    const before = `${lines(10_000, "old").join("\n")}\n`;
    const after = `${Array.from({ length: 10_000 }, (_, at) => made(at)).join("\n")}\n`;
    const again = Array.from({ length: 10_000 }, (_, at) => (at % 3 === 0 ? "{" : "}")).join("\n");
    const from = after.startsWith("{") ? again : before;
    expect(took(() => diffTexts(from, after))).toBeLessThan(200);
    expect(applied(from, diffTexts(from, after))).toBe(after);
  });
});

describe("side by side", () => {
  it("holds every line once, in order, and same lines in one row", () => {
    fc.assert(
      fc.property(pair, ([before, after]) => {
        for (const hunk of diffTexts(before, after)) {
          const rows = splitRows(hunk.lines);
          expect(rows.flatMap((row) => row.left ?? [])).toEqual(
            hunk.lines.filter((each) => each.kind !== "added"),
          );
          expect(rows.flatMap((row) => row.right ?? [])).toEqual(
            hunk.lines.filter((each) => each.kind !== "removed"),
          );
          for (const { left, right } of rows) {
            expect(left ?? right).not.toBeNull();
            if (left?.kind === "same" || right?.kind === "same") expect(left).toBe(right);
          }
        }
      }),
    );
  });
});

describe("words", () => {
  it("joined are the line, on both sides", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 80 });
    fc.assert(
      fc.property(anyText, anyText, fc.array(fc.nat(80)), (before, other, cuts) => {
        const after = cuts.reduce(
          (sofar, at) => sofar.slice(0, at) + other.slice(at % 7, at % 11) + sofar.slice(at),
          before,
        );
        const pieces = diffWords(before, after);
        if (!pieces) return;
        expect(pieces[0].map((word) => word.text).join("")).toBe(before);
        expect(pieces[1].map((word) => word.text).join("")).toBe(after);
      }),
      { numRuns: 300 },
    );
  });

  it("mark what differs and nothing else", () => {
    const pieces = diffWords("    return sum(self.items)", "    return total(self.items)");
    expect(pieces?.[0].filter((word) => word.changed)).toEqual([{ text: "sum", changed: true }]);
    expect(pieces?.[1].filter((word) => word.changed)).toEqual([{ text: "total", changed: true }]);
  });

  it("are not looked for in lines that have little in common or are made for machines", () => {
    expect(diffWords("alpha beta gamma", "completely other things here")).toBeNull();
    expect(diffWords("x".repeat(5_000), `${"x".repeat(5_000)}y`)).toBeNull();
  });

  it("of scripts without blanks are single signs", () => {
    const pieces = diffWords("返回总和数值", "返回平均数值");
    expect(pieces?.[1].filter((word) => word.changed)).toEqual([{ text: "平均", changed: true }]);
  });
});

describe("hunks from elsewhere", () => {
  it("of the server's diff have numbers, signs and their newline", () => {
    const given: Hunk = {
      old_start: 41,
      old_lines: 2,
      new_start: 41,
      new_lines: 3,
      header: "def total(self):",
      text: " same\n-old\n\\ No newline at end of file\n+new\n+more\n",
      sha256: "",
    };
    const hunk = parseHunk(given);
    expect(hunk.header).toBe("def total(self):");
    expect(hunk.lines).toMatchObject([
      { kind: "same", old: 41, now: 41, text: "same" },
      { kind: "removed", old: 42, now: null, text: "old", bare: true },
      { kind: "added", old: null, now: 42, text: "new" },
      { kind: "added", old: null, now: 43, text: "more" },
    ]);
    expect(countOf([hunk])).toEqual({ added: 2, removed: 1 });
  });

  it("of tools may be anything at all", () => {
    fc.assert(fc.property(fc.anything(), (patch) => Array.isArray(parsePatch(patch))));
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ oldStart: fc.integer(), newStart: fc.integer(), lines: fc.array(fc.anything()) }),
        ),
        (patch) => Array.isArray(parsePatch(patch)),
      ),
    );
  });
});

it("changes never touch each other", () => {
  fc.assert(
    fc.property(pair, ([before, after]) => {
      const changes = changesOf(linesOf(before), linesOf(after));
      changes.slice(1).forEach((change, index) => {
        expect(change.oldStart).toBeGreaterThan(changes[index]?.oldEnd ?? 0);
      });
    }),
  );
});
