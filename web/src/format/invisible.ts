/** Makes invisible and bidirectional control characters visible, so that people approve what they read. */

export interface TextPiece {
  text: string;
  /** Name of an invisible character; empty for ordinary text. */
  name: string;
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

export function splitInvisible(text: string): TextPiece[] {
  const found: TextPiece[] = [];
  let offset = 0;
  for (const match of text.matchAll(SUSPECT)) {
    if (match.index > offset) found.push({ text: text.slice(offset, match.index), name: "" });
    found.push({ text: match[0], name: nameOf(match[0]) });
    offset = match.index + match[0].length;
  }
  if (offset < text.length) found.push({ text: text.slice(offset), name: "" });
  return found;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return `^${String.fromCharCode(code + 64)}`;
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export function hasInvisible(text: string): boolean {
  return text.search(SUSPECT) >= 0; // unlike `test`, `search` keeps no lastIndex
}

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A one-line label without bidirectional controls. For texts people decide on, use `splitInvisible`. */
export function oneLine(text: string): string {
  return text
    .replace(TURNING, "")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}
