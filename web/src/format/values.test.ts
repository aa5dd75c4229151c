// @vitest-environment node
import { expect, test } from "vitest";
import { shortPath } from "./values";

test.each([
  ["/home/ada", "~"],
  ["/home/ada/shop", "~/shop"],
  ["/home/adam/shop", "/home/adam/shop"],
  ["/srv/shop", "/srv/shop"],
])("%s is short %s", (path, short) => {
  expect(shortPath(path, "/home/ada")).toBe(short);
  expect(shortPath(path)).toBe(path);
});
