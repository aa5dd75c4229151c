import { describe, expect, it } from "vitest";
import { linksIn, openLink } from "./links";

describe("links in a terminal", () => {
  it("are addresses of the web, without the marks of the sentence around them", () => {
    expect(linksIn("see https://a.example/x?y=1, (http://b.example).")).toEqual([
      { text: "https://a.example/x?y=1", start: 4 },
      { text: "http://b.example", start: 30 },
    ]);
    expect(linksIn("javascript:alert(1) file:///etc/passwd ftp://x")).toEqual([]);
  });

  it("open only with a modifier and only to http and https", () => {
    const opened: string[] = [];
    const open = (url: string) => void opened.push(url);
    const held = { ctrlKey: true, metaKey: false };
    expect(openLink({ ctrlKey: false, metaKey: false }, "https://a.example", open)).toBe(false);
    for (const bad of ["javascript:alert(1)", "data:text/html,x", "file:///x", "vscode://x", "nonsense", ""])
      expect(openLink(held, bad, open)).toBe(false);
    expect(openLink(held, "https://a.example", open)).toBe(true);
    expect(opened).toEqual(["https://a.example/"]);
  });
});
