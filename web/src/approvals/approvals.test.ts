import { describe, expect, it } from "vitest";
import type { InteractionOpened } from "@/api/types";
import { alwaysRuleOf } from "./alwaysRule";
import { readInput } from "./EditInput";
import { answersOf, choose, isAnswered, NOTHING, questionsOf, typeAnswer } from "./questions";
import { requestReason } from "./requestText";
import { resolutionText } from "./resolution";

function opened(suggestions: unknown[], input: object = {}): InteractionOpened {
  const call = { type: "tool_call", id: "c", name: "Bash", input };
  return { type: "interaction_opened", id: "i", kind: "permission", call, suggestions } as never;
}

describe("why somebody is asked", () => {
  const asks = (reason: string, kind = "permission") =>
    requestReason({ ...opened([], { file_path: "/shop/cart.py" }), kind, reason } as never);

  it("is not said where it only repeats the file", () => {
    expect(asks("Bash would change /shop/cart.py.")).toBe("");
    const more = "Bash would change /shop/cart.py, which is outside the working directories.";
    expect(asks(more)).toBe(more);
    expect(asks("The plan is done.", "plan")).toBe("");
  });
});

describe("what always would store", () => {
  it("is the rule as it is written, for the places where it can be", () => {
    const rule = {
      type: "addRules",
      rules: [{ toolName: "Bash", ruleContent: "pytest:*" }],
      behavior: "allow",
    };
    const lasting = alwaysRuleOf(opened([{ type: "setMode", mode: "acceptEdits" }, rule]));
    expect(lasting?.short).toBe("pytest …");
    expect(lasting?.stored).toBe("Bash(pytest:*)");
    expect(lasting?.reaches.map((each) => each.reach)).toEqual(["session", "project", "user"]);
    expect(lasting?.reaches[1]?.about).toContain("until you remove it");
    expect(alwaysRuleOf(opened([rule]), false)?.reaches[1]?.about).toContain(
      "after you trust this directory",
    );
  });

  it("is a mode of the session only, and nothing where nothing was suggested", () => {
    const lasting = alwaysRuleOf(opened([{ type: "setMode", mode: "acceptEdits", destination: "session" }]));
    expect(lasting?.stored).toBe("Accept edits");
    expect(lasting?.reaches.map((each) => each.reach)).toEqual(["session"]);
    expect(alwaysRuleOf(opened([]))).toBeNull();
    expect(alwaysRuleOf(opened([{ type: "addRules", rules: [] }]))).toBeNull();
  });

  it("is nothing for a call that destroys what cannot be brought back", () => {
    const rule = { type: "addRules", rules: [{ toolName: "Bash", ruleContent: "rm x" }], behavior: "allow" };
    expect(alwaysRuleOf({ ...opened([rule]), destructive: true })).toBeNull();
    expect(alwaysRuleOf({ ...opened([rule]), destructive: false })).not.toBeNull();
  });

  it("names the directories", () => {
    expect(alwaysRuleOf(opened([{ type: "addDirectories", directories: ["/etc"] }]))?.stored).toBe(
      "Work in /etc",
    );
  });
});

describe("an edited input", () => {
  it("is the command alone where there is one", () => {
    const asked = opened([], { command: "ls", timeout: 5 });
    expect(readInput(asked, "ls -l")).toEqual({ command: "ls -l", timeout: 5 });
    expect(readInput(asked, "  ")).toBe("The command is empty.");
  });

  it("is a JSON object elsewhere, or says why not", () => {
    const asked = opened([], { url: "x" });
    expect(readInput(asked, '{"url": "y"}')).toEqual({ url: "y" });
    expect(readInput(asked, "[1]")).toBe("Not a JSON object.");
    expect(readInput(asked, "{")).toContain("Invalid JSON");
  });
});

describe("questions", () => {
  const input = {
    questions: [
      { question: "Which?", options: [{ label: "A" }, { label: "B" }] },
      { question: "What?", options: [{ label: "C" }, { label: "D" }], multiSelect: true },
      { nonsense: 1 },
    ],
  };
  const [one, several] = questionsOf(input) as [never, never];

  it("are read as far as they can be", () => {
    expect(questionsOf(input)).toHaveLength(2);
    expect(questionsOf({ questions: "no" })).toEqual([]);
    expect(questionsOf({})).toEqual([]);
  });

  it("take one answer or several, and other words in place of one or beside several", () => {
    expect(choose(one, choose(one, NOTHING, "A"), "B").labels).toEqual(["B"]);
    expect(choose(several, choose(several, NOTHING, "C"), "D").labels).toEqual(["C", "D"]);
    expect(choose(several, { labels: ["C"], text: "" }, "C").labels).toEqual([]);
    expect(typeAnswer(one, { labels: ["A"], text: "" }, "other")).toEqual({ labels: [], text: "other" });
    expect(typeAnswer(several, { labels: ["C"], text: "" }, "other")).toEqual({
      labels: ["C"],
      text: "other",
    });
    expect(isAnswered({ labels: [], text: "  " })).toBe(false);
  });

  it("are answered by their words", () => {
    const chosen = { "Which?": { labels: ["B"], text: "" }, "What?": { labels: ["C"], text: " more " } };
    expect(answersOf(questionsOf(input), chosen)).toEqual({ "Which?": "B", "What?": ["C", "more"] });
    expect(answersOf(questionsOf(input), {})).toEqual({});
  });
});

describe("who decided", () => {
  const asked = { kind: "permission", tool: "Bash" };
  it("is named, and one's own other window is not a stranger", () => {
    expect(resolutionText(asked, { outcome: "allowed", by: "ada" }, "bob")).toBe("Bash: allowed by ada.");
    expect(resolutionText(asked, { outcome: "denied", by: "bob", message: "no" }, "bob")).toBe(
      "Bash: denied by you in another window. “no”",
    );
    expect(resolutionText({ kind: "question", tool: "x" }, { outcome: "allowed", by: "ada" }, "")).toBe(
      "Question: answered by ada.",
    );
    expect(resolutionText(asked, { outcome: "cancelled", by: "" }, "bob")).toBe("Bash: withdrawn.");
  });
});
