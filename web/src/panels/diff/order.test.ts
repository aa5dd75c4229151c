import { expect, it } from "vitest";
import { inTreeOrder } from "./order";

it("puts folders before files and both by name, whatever their state", () => {
  const given = ["z.md", "docs/b.md", "a.md", "docs/deep/x.md", "docs/a.md", "api/z.py"].map((path) => ({
    path,
  }));
  expect(inTreeOrder(given).map((each) => each.path)).toEqual([
    "api/z.py",
    "docs/deep/x.md",
    "docs/a.md",
    "docs/b.md",
    "a.md",
    "z.md",
  ]);
});
