import { expect, test } from "vitest";
import { openFence } from "./fences";

test("the end of a text that begins within code shows what follows the code as prose", () => {
  expect(openFence("x = 1\n```\n\n## Next\n")).toBe("```\nx = 1\n```\n\n## Next\n");
  expect(openFence("x = 1\n~~~~\nthen\n```py\ny\n```\n")).toBe("~~~~\nx = 1\n~~~~\nthen\n```py\ny\n```\n");
});

test("the end of a text that begins in prose stays as it is", () => {
  for (const text of ["no code", "words\n```py\nx\n```\nwords", "words\n```py\nnever closed", "a ``` b"])
    expect(openFence(text)).toBe(text);
});
