/** Refuses imports that point up: a folder of src imports those above it in this list, and none of its own line. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const LAYERS = [
  ["gen"],
  ["api", "format", "keys"],
  ["ui"],
  ["state stream"], // One layer: the stream fills the state, and the state asks the stream for more.
  ["theme", "text"],
  ["diff"],
  ["tools"],
  ["approvals", "composer", "panels", "transcript"],
  ["layout"],
  ["pages"],
  ["main prefetch routes"],
  ["sw"],
];
const IMPORT = /(?:\bfrom|\bimport\(?)\s*"((?:@|\.{1,2})\/[^"]+)"/g;

const zones = new Map(
  LAYERS.flatMap((layer, height) =>
    layer.flatMap((zone) => zone.split(" ").map((folder) => [folder, { zone, height }])),
  ),
);
const zoneOf = (path) => zones.get(path.split("/")[0].replace(/\..*/, ""));

const files = readdirSync("src", { recursive: true }).filter((name) => /(?<!\.test)\.tsx?$/.test(name));
let problems = 0;
for (const file of files) {
  const from = zoneOf(file);
  for (const [, name] of readFileSync(join("src", file), "utf-8").matchAll(IMPORT)) {
    const to = zoneOf(name.startsWith("@/") ? name.slice(2) : normalize(join(dirname(file), name)));
    if (from && to && (from.zone === to.zone || from.height > to.height)) continue;
    console.error(`src/${file} must not import ${name}: see the layers in web/scripts/check_layers.mjs`);
    problems += 1;
  }
}
process.exit(problems ? 1 : 0);
