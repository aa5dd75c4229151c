/** Repairs the end of a cut Markdown text. */

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/gm;

/** If the text starts inside a code block, opens that block: otherwise the rest would render as code. */
export function openFence(text: string): string {
  const fences = [...text.matchAll(FENCE)];
  const first = fences[0];
  // A fence with a language opens a block; an odd number of fences without one means the first closes a block.
  if (!first || first[2]?.trim() || fences.length % 2 === 0) return text;
  return `${first[1]}\n${text}`;
}
