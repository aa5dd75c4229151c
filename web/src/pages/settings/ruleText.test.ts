import { describe, expect, it } from "vitest";
import { ruleText } from "./ruleText";

describe("a permission rule in words", () => {
  it.each([
    ["Bash", "every command"],
    ["Bash(*)", "every command"],
    ["Bash(pytest *)", "commands that begin with “pytest”"],
    ["Bash(npm run test:*)", "commands that begin with “npm run test”"],
    ["Bash(git status)", "exactly the command “git status”"],
    ["Bash(git * main)", "commands of the form “git * main”, where * stands for anything"],
    ["Read(.env)", "reading and searching .env at any depth"],
    ["Read(docs/**)", "reading and searching everything in docs below the session's directory"],
    ["Edit(~/notes/a.md)", "changing notes/a.md in your home directory"],
    ["Edit(//**)", "changing everything below the root of the file system"],
    ["WebFetch(domain:*.example.com)", "fetching from every subdomain of example.com"],
    ["WebFetch(domain:*)", "fetching from every public host"],
    ["mcp__github", "every tool of the MCP server github"],
    ["mcp__github__get_issue", "get_issue of the MCP server github"],
    ["Agent", "every call of Agent"],
    ["", ""],
  ])("%s means %s", (rule, words) => {
    expect(ruleText(rule)).toBe(words);
  });
});
