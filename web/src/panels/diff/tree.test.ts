import { describe, expect, it } from "vitest";
import type { DiffFile } from "@/api/types";
import { treeOf } from "./tree";

const files = (...paths: string[]): DiffFile[] =>
  paths.map((path) => ({ path, status: "modified" }) as DiffFile);

describe("the tree of changed files", () => {
  it("joins directories that hold nothing but one other", () => {
    const tree = treeOf(files("a/b/c/one.py", "a/b/c/two.py", "top.md"));
    expect(tree.folders.map((each) => each.name)).toEqual(["a/b/c"]);
    expect(tree.folders[0]?.files.map((each) => each.name)).toEqual(["one.py", "two.py"]);
    expect(tree.files.map((each) => each.name)).toEqual(["top.md"]);
  });

  it("does not join where a file lies between", () => {
    const tree = treeOf(files("a/one.py", "a/b/two.py"));
    expect(tree.folders[0]?.name).toBe("a");
    expect(tree.folders[0]?.folders[0]?.name).toBe("b");
  });
});
