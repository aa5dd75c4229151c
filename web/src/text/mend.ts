/** The end of a paragraph that is still being written, with what was opened in it closed. */

const PAIRS = ["**", "__", "~~"];
/** A star that may open or close: not one of two, and a word on at least one side of it. */
const STAR = /(?<!\*)\*(?!\*)(?=\S)|(?<=\S)(?<!\*)\*(?!\*)/g;

export function mended(text: string): string {
  let shown = text.replace(/\n[-=]+$/, ""); // not yet known to be a heading
  if (odd(shown, /`+/g)) return `${shown}\``;
  shown = shown
    .replace(/!\[[^\]\n]*(?:\](?:\([^)\n]*)?)?$/, "") // half an image
    .replace(/\[([^\]\n]*)\]\([^)\n]*$/, "$1"); // a link whose address has not come
  if (odd(words(shown), /\*\*/g)) shown = shown.replace(/([^*])\*$/, "$1"); // half of a closing pair
  if (odd(words(shown), STAR)) shown = closed(shown, "*");
  for (const sign of PAIRS) if (words(shown).split(sign).length % 2 === 0) shown = closed(shown, sign);
  return shown;
}

function words(text: string): string {
  return text.replace(/`[^`]*`/g, "");
}

function odd(text: string, pattern: RegExp): boolean {
  return (text.match(pattern)?.length ?? 0) % 2 === 1;
}

/** A sign with nothing behind it is not shown yet; others are closed, right after a letter, where they count. */
function closed(text: string, sign: string): string {
  const end = /\s*$/.exec(text)?.[0] ?? "";
  const body = text.slice(0, text.length - end.length);
  return body.endsWith(sign) ? body.slice(0, -sign.length) : body + sign + end;
}
