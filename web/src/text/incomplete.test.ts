import { expect, test } from "vitest";
import { closeIncomplete } from "./incomplete";

test.each([
  ["plain words", "plain words"],
  ["some **bold", "some **bold**"],
  ["some **bold*", "some **bold**"],
  ["some **bold**", "some **bold**"],
  ["some **", "some "],
  ["an *em", "an *em*"],
  ["2 * 3", "2 * 3"],
  ["a `code", "a `code`"],
  ["a `**` and **b", "a `**` and **b**"],
  ["~~gone", "~~gone~~"],
  ["see [the docs](https://exa", "see the docs"],
  ["see [the docs](https://example.org) now", "see [the docs](https://example.org) now"],
  ["![pict", ""],
  ["A heading\n--", "A heading"],
  ["**one** and **two ", "**one** and **two** "],
])("while %j is written, %j is shown", (written, shown) => {
  expect(closeIncomplete(written)).toBe(shown);
});
