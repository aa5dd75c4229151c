import fc from "fast-check";
import { expect, test } from "vitest";
import { type Parsed, parse } from "./blocks";

const TEXT = `# Title

Words **bold** and \`code\`.

- one
- two

  more of two

1. first

\`\`\`python
def f():
    return "**"
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quote
> more

Last.`;

const shape = (parsed: Parsed) => parsed.blocks.map((block) => [block.at, block.token.type, block.raw]);

test("text that came in pieces is in the end what it is at once", () => {
  const whole = shape(parse(TEXT, false));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 }), (sizes) => {
      let parsed: Parsed | undefined;
      let at = 0;
      for (const size of sizes) {
        at += size;
        parsed = parse(TEXT.slice(0, at), true, parsed);
      }
      expect(shape(parse(TEXT, true, parsed))).toEqual(whole);
    }),
    { numRuns: 100 },
  );
});

test("blocks that are done stay the same objects while the end grows", () => {
  const before = parse(TEXT, true);
  const after = parse(`${TEXT} And more.`, true, before);
  expect(after.blocks[0]).toBe(before.blocks[0]);
  expect(after.blocks[4]).toBe(before.blocks[4]);
  expect(after.blocks.at(-1)).not.toBe(before.blocks.at(-1));
});

test("a fence is open until its end has come", () => {
  const open = (text: string) => parse(text, true).blocks.at(-1)?.open;
  expect(open("```py\nx = 1")).toBe(true);
  expect(open("```py\nx = 1\n``")).toBe(true);
  expect(open("```py\nx = 1\n```")).toBe(false);
  expect(open("````md\n```\n")).toBe(true);
  expect(open("~~~\n~~~\n")).toBe(false);
  expect(parse("```py\nx = 1", false).blocks.at(-1)?.open).toBe(false);
});

test("carriage returns are line ends", () => {
  expect(shape(parse("a\r\n\r\nb", false))).toEqual(shape(parse("a\n\nb", false)));
});
