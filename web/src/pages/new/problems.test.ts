import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import { type Draft, newSessionBody } from "@/state/newSessionDraft";
import { problemsFrom, validate } from "./problems";

const DRAFT: Draft = {
  cwd: "/w/shop",
  prompt: "fix it",
  workflow: "chat",
  engine: "native",
  model: "",
  permission: "",
  worktree: false,
  branch: "",
  turns: "",
  budget: "",
  clientId: "1",
};

describe("what the page sees itself", () => {
  it("is nothing where all is well", () => {
    expect(validate(DRAFT, 0)).toEqual({});
    expect(validate({ ...DRAFT, prompt: "" }, 1)).toEqual({});
    expect(validate({ ...DRAFT, cwd: "~/shop", turns: "5", budget: "2.5" }, 0)).toEqual({});
  });

  it("is said beside its field", () => {
    const found = validate({ ...DRAFT, cwd: "shop", prompt: " ", turns: "0", budget: "-1" }, 0);
    expect(Object.keys(found).sort()).toEqual(["budget", "cwd", "prompt", "turns"]);
  });
});

describe("what the server says", () => {
  const problem = (message: string, details = {}, status = 422) =>
    problemsFrom(new ApiError("invalid", message, status, details));

  it.each([
    ["The body is not as it should be: Expected `int`, got `str` - at `$.max_turns`", "turns"],
    ["There is no permission mode 'x': default, plan.", "permission"],
    ["A session in plan mode cannot be in acceptEdits.", "permission"],
    ["There is no engine 'x'. This server has: native.", "engine"],
    ["There is no directory “/w/x”. Make it first, or choose another.", "cwd"],
    ["The branch feat/x exists already.", "branch"],
    ["No key for the model.", "model"],
    ["Something else altogether.", "all"],
  ])("%s", (message, field) => {
    expect(problem(message)).toEqual({ [field]: message });
  });

  it("goes by the field it names, and by the directories it allows", () => {
    expect(problem("no", { field: "model" })).toEqual({ model: "no" });
    expect(problem("Not there.", { roots: ["/home"] }, 403)).toEqual({ cwd: "Not there." });
  });

  it("belongs to no field where the server did not understand or is not there", () => {
    expect(problemsFrom(new ApiError("unreachable", "no directory", 0))).toEqual({ all: "no directory" });
    expect(problem("model", {}, 500)).toEqual({ all: "model" });
  });
});

describe("what is sent", () => {
  it("has 100 turns where nobody said otherwise (S000-62), and no branch without a work tree", () => {
    expect(newSessionBody({ ...DRAFT, branch: "x" }, 100)).toMatchObject({
      max_turns: 100,
      max_budget_usd: null,
      branch: "",
    });
    expect(newSessionBody({ ...DRAFT, turns: "7", budget: "1.5" }, 100)).toMatchObject({
      max_turns: 7,
      max_budget_usd: 1.5,
    });
  });
});
