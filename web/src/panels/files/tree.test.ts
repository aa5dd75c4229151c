import { describe, expect, it } from "vitest";
import type { DirectoryEntry } from "@/api/types";
import { type Folder, foldersAbove, linesOf, moveBy } from "./tree";

const entry = (path: string, kind: DirectoryEntry["kind"] = "file"): DirectoryEntry =>
  ({ path, name: path.split("/").at(-1) ?? path, kind }) as DirectoryEntry;
const folder = (...entries: DirectoryEntry[]): Folder => ({ entries, more: 0, problem: "" });

const folders = new Map([
  ["", folder(entry("src", "directory"), entry("docs", "directory"), entry("README.md"))],
  ["src", folder(entry("src/cart.py"), entry("src/shop.py"))],
  ["docs", folder()],
]);
const open = new Set(["src"]);
const lines = linesOf(folders, open);
const names = (found = lines) => found.map((line) => line.text || line.path);

describe("a tree of files", () => {
  it("shows what is in open directories, one level deeper", () => {
    expect(names()).toEqual(["src", "src/cart.py", "src/shop.py", "docs", "README.md"]);
    expect(lines.map((line) => line.level)).toEqual([1, 2, 2, 1, 1]);
  });

  it("says what is loading, empty, unreadable, or longer than what is listed", () => {
    expect(names(linesOf(new Map(), new Set()))).toEqual(["Loading"]);
    expect(names(linesOf(folders, new Set(["docs"])))).toContain("Empty");
    const bad = new Map([["", { entries: [entry("a")], more: 1500, problem: "" }]]);
    expect(names(linesOf(bad, new Set()))).toEqual(["a", "1,500 more"]);
    const closed = new Map([["", { entries: [], more: 0, problem: "It cannot be read." }]]);
    expect(names(linesOf(closed, new Set()))).toEqual(["It cannot be read."]);
  });

  it("is walked by arrow keys as trees everywhere", () => {
    expect(moveBy("ArrowDown", lines, "src")).toEqual({ to: "src/cart.py" });
    expect(moveBy("ArrowUp", lines, "src")).toEqual({ to: "src" });
    expect(moveBy("ArrowRight", lines, "docs")).toEqual({ open: "docs" });
    expect(moveBy("ArrowRight", lines, "src")).toEqual({ to: "src/cart.py" });
    expect(moveBy("ArrowLeft", lines, "src/shop.py")).toEqual({ to: "src" });
    expect(moveBy("ArrowLeft", lines, "src")).toEqual({ close: "src" });
    expect(moveBy("ArrowLeft", lines, "README.md")).toBeNull();
    expect(moveBy("End", lines, "src")).toEqual({ to: "README.md" });
    expect(moveBy("Enter", lines, "README.md")).toEqual({ choose: "README.md" });
    expect(moveBy("Enter", lines, "src")).toEqual({ close: "src" });
    expect(moveBy("d", lines, "README.md")).toEqual({ to: "docs" });
    expect(moveBy("Tab", lines, "src")).toBeNull();
  });

  it("begins at the first line where nothing is active yet", () => {
    expect(moveBy("ArrowDown", lines, "")).toEqual({ to: "src" });
    expect(moveBy("ArrowUp", lines, "")).toEqual({ to: "src" });
  });

  it("knows what must be open for a path to be seen", () => {
    expect(foldersAbove("a/b/c.py")).toEqual(["a", "a/b"]);
    expect(foldersAbove("c.py")).toEqual([]);
  });
});
