/** Explains a permission rule. */

export function ruleText(rule: string): string {
  const found = /^([^(]+)(?:\((.*)\))?$/s.exec(rule.trim());
  if (!found) return "";
  const [, tool = "", pattern = ""] = found;
  const all = pattern === "" || pattern === "*";
  if (tool.startsWith("mcp__")) return mcpText(tool);
  switch (tool) {
    case "Bash":
      return all ? "every command" : commandText(pattern);
    case "Read":
      return all ? "reading and searching any file" : `reading and searching ${pathText(pattern)}`;
    case "Edit":
    case "Write":
      return all ? "changing any file" : `changing ${pathText(pattern)}`;
    case "WebFetch":
      return all ? "fetching any address" : `fetching from ${hostText(pattern)}`;
    default:
      return all ? `every call of ${tool}` : `${tool} with ${pattern}`;
  }
}

function commandText(pattern: string): string {
  const begin = /^([^*]*?)(?::\*| \*)$/.exec(pattern)?.[1];
  if (begin) return `commands that begin with “${begin}”`;
  if (pattern.includes("*")) return `commands of the form “${pattern}”, where * stands for anything`;
  return `exactly the command “${pattern}”`;
}

function pathText(pattern: string): string {
  const [start, rest] = startOf(pattern);
  if (rest === "**" || rest === "*") return `everything below ${start}`;
  if (rest.endsWith("/**")) return `everything in ${rest.slice(0, -3)} below ${start}`;
  return `${rest} ${pattern.includes("/") ? `in ${start}` : "at any depth"}`;
}

function startOf(pattern: string): [string, string] {
  if (pattern.startsWith("//")) return ["the root of the file system", pattern.slice(2)];
  if (pattern.startsWith("~/")) return ["your home directory", pattern.slice(2)];
  return ["the session's directory", pattern.replace(/^\.?\//, "")];
}

function hostText(pattern: string): string {
  const host = pattern.replace(/^domain:/, "");
  if (host === "*") return "every public host";
  return host.startsWith("*.") ? `every subdomain of ${host.slice(2)}` : host;
}

function mcpText(tool: string): string {
  const [, server = "", name = ""] = tool.split("__");
  if (!name || name === "*") return `every tool of the MCP server ${server}`;
  return `${name} of the MCP server ${server}`;
}
