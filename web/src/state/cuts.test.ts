import { expect, test } from "vitest";
import { lineCount } from "@/tools/parts/fields";
import { findCut, joinCutTexts, missingOf } from "./cuts";

const cut = { path: ["input", "content"], tail: "c\nd\n", omitted: 1200, lines: 100, seq: 0 };

test("what is missing of a text is told, and its lines are counted as if it were whole", () => {
  for (const content of ["a\nb\n", "a\nb"]) {
    const event = { input: { content, file_path: "x" } };
    const shown = joinCutTexts(event, [cut]);
    expect(shown.input.content).toContain("… 1,200 characters not shown …");
    expect(event.input.content).toBe(content);
    const missing = missingOf(event, [cut], "input");
    expect(missing.characters).toBe(1200);
    expect(lineCount(shown.input.content) + missing.lines).toBe(
      lineCount(content + "\n".repeat(100) + cut.tail),
    );
  }
});

test("a text that only looks like a cut one is whole", () => {
  const event = { input: { content: "\n… 5 characters left out …\n" } };
  expect(joinCutTexts(event, undefined)).toBe(event);
  expect(missingOf(event, undefined, "input").characters).toBe(0);
  expect(missingOf(event, [cut], "reply").characters).toBe(0);
});

test("a cut whose text is not there changes nothing", () => {
  expect(joinCutTexts({ other: 1 }, [cut])).toEqual({ other: 1 });
  expect(findCut([cut], "input", "content")).toBe(cut);
  expect(findCut([cut], "input")).toBeUndefined();
});
