import { expect, test } from "vitest";
import { wordsOf } from "./client";

test("a part of an older page that the server no longer has is told in words, with what to do", () => {
  for (const said of [
    "Failed to fetch dynamically imported module: http://x/assets/Plan-1.js",
    "error loading dynamically imported module: http://x/assets/Plan-1.js",
    "Importing a module script failed.",
    "Unable to preload CSS for /assets/Screen-1.css",
  ])
    expect(wordsOf(new TypeError(said))).toMatch(/reload the page/);
  expect(wordsOf(new Error("Something else"))).toBe("Something else");
});
