/** Parses the partial JSON of a call's input while the model writes it. */

/** The input so far. Never throws; incomplete members are left out. */
export function parsePartialInput(writing: string): Record<string, unknown> {
  // Drop an incomplete escape at the end.
  const come = writing.replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1");
  for (const text of [come + ending(come), withoutLast(come)]) {
    try {
      const found: unknown = JSON.parse(text);
      if (found !== null && typeof found === "object" && !Array.isArray(found))
        return found as Record<string, unknown>;
    } catch {
      // not valid JSON this way
    }
  }
  return {};
}

interface Scanned {
  /** The characters that close all open strings and brackets. */
  ending: string;
  /** Start of the last member: its comma, or the position after the opening bracket. */
  last: number;
}

function scan(text: string): Scanned {
  let inside = false;
  let escaped = false;
  let last = 0;
  const open: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (escaped) escaped = false;
    else if (inside && letter === "\\") escaped = true;
    else if (letter === '"') inside = !inside;
    else if (inside) continue;
    else if (letter === "{" || letter === "[") {
      open.push(letter === "{" ? "}" : "]");
      last = at + 1;
    } else if (letter === "}" || letter === "]") open.pop();
    else if (letter === ",") last = at;
  }
  return { ending: (inside ? '"' : "") + open.reverse().join(""), last };
}

function ending(text: string): string {
  return scan(text).ending;
}

/** Without the last member, which may be a name without a value. */
function withoutLast(text: string): string {
  const cut = text.slice(0, scan(text).last);
  return cut + ending(cut);
}

/** The longest text of the input. */
export function longestText(input: Record<string, unknown>): string {
  let longest = "";
  for (const value of Object.values(input))
    if (typeof value === "string" && value.length > longest.length) longest = value;
  return longest;
}

/** The last lines of a text, for a box of fixed height. */
export function lastLines(text: string, most: number): string {
  const end = text.endsWith("\n") ? text.length - 1 : text.length;
  let from = end;
  for (let line = 0; line < most; line += 1) {
    if (from <= 0) return text.slice(0, end);
    from = text.lastIndexOf("\n", from - 1);
    if (from < 0) return text.slice(0, end);
  }
  return text.slice(from + 1, end);
}
