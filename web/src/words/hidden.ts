/** Characters that show nothing or turn text around, made visible (FM-38): what is approved is what is read. */

export interface Piece {
  text: string;
  /** The name of a character that would not be seen. */
  hidden: string;
}

const NAMES: Record<number, string> = {
  160: "NBSP",
  173: "SHY",
  847: "CGJ",
  1564: "ALM",
  4447: "HCF",
  4448: "HJF",
  6158: "MVS",
  8203: "ZWSP",
  8204: "ZWNJ",
  8205: "ZWJ",
  8206: "LRM",
  8207: "RLM",
  8232: "LSEP",
  8233: "PSEP",
  8234: "LRE",
  8235: "RLE",
  8236: "PDF",
  8237: "LRO",
  8238: "RLO",
  8288: "WJ",
  8289: "FA",
  8290: "IT",
  8291: "IS",
  8292: "IP",
  8294: "LRI",
  8295: "RLI",
  8296: "FSI",
  8297: "PDI",
  12644: "HF",
  65279: "BOM",
  65440: "HWF",
};
const SUSPECT =
  /(?![\n\t ])(?:\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Zs}|\u034f|\u115f|\u1160|\u3164|\uffa0|[\ufe00-\ufe0e]|[\u{e0100}-\u{e01ef}])/gu;

export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let place = 0;
  for (const match of text.matchAll(SUSPECT)) {
    if (match.index > place) found.push({ text: text.slice(place, match.index), hidden: "" });
    found.push({ text: match[0], hidden: nameOf(match[0]) });
    place = match.index + match[0].length;
  }
  if (place < text.length) found.push({ text: text.slice(place), hidden: "" });
  return found;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return `^${String.fromCharCode(code + 64)}`;
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export function hasHidden(text: string): boolean {
  return text.search(SUSPECT) >= 0; // unlike `test` it leaves no place behind where the next look would begin
}

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A name for a list: on one line, and nothing in it turns the text around. For what somebody decides on, use `pieces`. */
export function oneLine(text: string): string {
  return text
    .replace(TURNING, "")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}
