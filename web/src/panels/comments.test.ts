import { beforeEach, describe, expect, it } from "vitest";
import { type LineComment, messageOf, useComments } from "./comments";

const one: Omit<LineComment, "id"> = {
  path: "src/cart.py",
  side: "new",
  line: 42,
  text: "    return total",
  words: "Round this.",
};

describe("comments on lines", () => {
  beforeEach(() => useComments.setState({ of: {} }));

  it("are told as path, line, quoted text and words", () => {
    expect(messageOf([{ ...one, id: "1" }])).toBe(
      "A comment on the changes:\n\nsrc/cart.py:42\n> return total\nRound this.",
    );
  });

  it("are told in the order of files and lines, whatever the order they were written in", () => {
    const said = messageOf([
      { ...one, id: "1", path: "b.py", line: 1 },
      { ...one, id: "2", path: "a.py", line: 9, side: "old", text: "" },
      { ...one, id: "3", path: "a.py", line: 2 },
    ]);
    expect(said.match(/^[ab]\.py:\d+.*$/gm)).toEqual([
      "a.py:2",
      "a.py:9 (a line that was removed)",
      "b.py:1",
    ]);
    expect(said).toContain("> (an empty line)");
  });

  it("are kept apart by session, changed and removed", () => {
    const store = useComments.getState();
    store.add("s1", one);
    store.add("s2", one);
    const id = useComments.getState().of.s1?.[0]?.id ?? "";
    store.change("s1", id, "Other words.");
    expect(useComments.getState().of.s1?.[0]?.words).toBe("Other words.");
    expect(useComments.getState().of.s2?.[0]?.words).toBe("Round this.");
    store.remove("s1", id);
    expect(useComments.getState().of).not.toHaveProperty("s1");
  });
});
