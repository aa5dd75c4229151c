/** A call's input while the model still writes it: as much of the JSON as has come, and its longest text. */

/** The input so far. Never throws; what is not JSON yet is simply not there. */
export function inputSoFar(writing: string): Record<string, unknown> {
  for (const text of [writing + ending(writing), withoutLast(writing)]) {
    try {
      const found: unknown = JSON.parse(text);
      if (found !== null && typeof found === "object" && !Array.isArray(found))
        return found as Record<string, unknown>;
    } catch {
      // not enough has come for this way of ending it
    }
  }
  return {};
}

/** What closes all that is open at the end of the text. */
function ending(text: string): string {
  let inside = false;
  let escaped = false;
  const open: string[] = [];
  for (const letter of text) {
    if (escaped) escaped = false;
    else if (inside && letter === "\\") escaped = true;
    else if (letter === '"') inside = !inside;
    else if (inside) continue;
    else if (letter === "{" || letter === "[") open.push(letter === "{" ? "}" : "]");
    else if (letter === "}" || letter === "]") open.pop();
  }
  return (escaped ? '\\"' : inside ? '"' : "") + open.reverse().join("");
}

/** Without the last member, which may be a name that has no value yet. */
function withoutLast(text: string): string {
  const cut = text.replace(/,?\s*"(?:[^"\\]|\\.)*"?\s*:?\s*[\w.+-]*$/, "");
  return cut + ending(cut);
}

/** The text in it that people wait for: the longest. */
export function longestText(input: Record<string, unknown>): string {
  let longest = "";
  for (const value of Object.values(input))
    if (typeof value === "string" && value.length > longest.length) longest = value;
  return longest;
}

/** The last lines of a text, for a box of fixed height. */
export function lastLines(text: string, most: number): string {
  let at = text.endsWith("\n") ? text.length - 1 : text.length;
  const end = at;
  for (let line = 0; line < most; line += 1) {
    at = text.lastIndexOf("\n", at - 1);
    if (at <= 0) return text.slice(at === 0 ? 1 : 0, end);
  }
  return text.slice(at + 1, end);
}
