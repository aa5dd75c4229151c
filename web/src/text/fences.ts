/** The end of a Markdown text whose beginning is not known. */

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/gm;

/** Where it begins within a code block, that block is opened: otherwise all that follows it would be shown as code. */
export function fromTheMiddle(text: string): string {
  const fences = [...text.matchAll(FENCE)];
  const first = fences[0];
  // A fence with a language behind it opens a block; one without may close one, if the others pair up without it.
  if (!first || first[2]?.trim() || fences.length % 2 === 0) return text;
  return `${first[1]}\n${text}`;
}
