/** Terminal output as text: colours are kept for `Ansi`, all other escape sequences are removed. */

/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what it matches */
/** OSC, DCS, APC, PM and SOS strings: titles, links, the clipboard. An unterminated one ends with its line. */
const STRINGS = /\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?/g;
/** CSI sequences other than colours. */
const CONTROLS = /\x1b\[[0-?]*[ -/]*[@-ln-~]/g;
const PRIVATE_COLOURS = /\x1b\[[<-?][0-?]*m/g;
/** Two-character escapes, and incomplete ones. */
const SHORT = /\x1b(?:[ -/]*[0-Z\\^-~]|$)/g;
const OTHER = /[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;
const OVERSTRUCK = /[^\n\x08]\x08/g;
const COLOURS = /\x1b\[[\d;:]*m?/g;
/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: control characters are what it matches */

/** The text with only line ends, tabs and colour sequences as controls. */
export function stripEscapes(text: string): string {
  if (!/[^\n\t -~\u00a0-\uffff]/.test(text)) return text;
  const stripped = text
    .replace(STRINGS, "")
    .replace(PRIVATE_COLOURS, "")
    .replace(CONTROLS, "")
    .replace(SHORT, "")
    .replace(OTHER, "")
    .replace(OVERSTRUCK, "")
    .replaceAll("\b", "");
  return stripped.includes("\r") ? stripped.split("\n").map(applyCarriageReturns).join("\n") : stripped;
}

/** Plain text, for copying. */
export function plainText(text: string): string {
  return stripEscapes(text).replace(COLOURS, "");
}

/** A carriage return overwrites the line: keeps the last state of a progress bar. */
function applyCarriageReturns(line: string): string {
  const shown = line.replace(/\r+$/, "");
  const position = shown.lastIndexOf("\r");
  return position < 0 ? shown : shown.slice(position + 1);
}
