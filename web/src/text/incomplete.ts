/** Closes what is still open at the end of a streamed paragraph. */

const PAIRS = ["**", "__", "~~"];
/** A single star next to a word, which may open or close emphasis. */
const STAR = /(?<!\*)\*(?!\*)(?=\S)|(?<=\S)(?<!\*)\*(?!\*)/g;

export function closeIncomplete(text: string): string {
  let shown = text.replace(/\n[-=]+$/, ""); // not yet known to be a heading
  if (odd(shown, /`+/g)) return `${shown}\``;
  shown = shown
    .replace(/!\[[^\]\n]*(?:\](?:\([^)\n]*)?)?$/, "") // half an image
    .replace(/\[([^\]\n]*)\]\([^)\n]*$/, "$1"); // a link without its URL
  if (odd(withoutCode(shown), /\*\*/g)) shown = shown.replace(/([^*])\*$/, "$1"); // half a closing pair
  if (odd(withoutCode(shown), STAR)) shown = closeSign(shown, "*");
  for (const sign of PAIRS)
    if (withoutCode(shown).split(sign).length % 2 === 0) shown = closeSign(shown, sign);
  return shown;
}

function withoutCode(text: string): string {
  return text.replace(/`[^`]*`/g, "");
}

function odd(text: string, pattern: RegExp): boolean {
  return (text.match(pattern)?.length ?? 0) % 2 === 1;
}

/** A trailing sign is dropped; any other is closed after the last word, where it takes effect. */
function closeSign(text: string, sign: string): string {
  const end = /\s*$/.exec(text)?.[0] ?? "";
  const body = text.slice(0, text.length - end.length);
  return body.endsWith(sign) ? body.slice(0, -sign.length) : body + sign + end;
}
