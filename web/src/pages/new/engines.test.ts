import { describe, expect, it } from "vitest";
import type { ServerConfig } from "@/api/types";
import { engineChoices, engineTitle } from "./engines";

const claude = {
  name: "claude",
  label: "claude",
  installed: true,
  problem: "",
  about: "Each session is a process of its own and takes 120 to 200 MB of memory.",
  version: "9.0.1",
  warning: "claude 9.0.1 is newer than what this server is tested with.",
};
const other = { ...claude, name: "other", label: "other", version: "", warning: "" };
const missing = { ...other, name: "gone", label: "gone", installed: false, problem: "It is not installed." };
const config = { engine_options: [claude, other, missing] } as unknown as ServerConfig;

describe("engines where one is chosen", () => {
  it("say what a session takes, and what to expect of an untested version (S004-37, S002-19)", () => {
    expect(engineChoices(config).map(({ value, about, disabled }) => [value, about, disabled])).toEqual([
      ["claude", `${claude.about} ${claude.warning}`, false],
      ["other", other.about, false],
      ["gone", "It is not installed.", true],
    ]);
  });

  it("have their version behind their name, where it is known", () => {
    expect([claude, other].map(engineTitle)).toEqual(["claude 9.0.1", "other"]);
  });
});
