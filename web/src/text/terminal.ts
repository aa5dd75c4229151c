/** What a terminal printed, as text: colours stay for `Ansi`, everything else an escape could do is left out (FM-52). */

/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: these are the characters it is about */
/** OSC, DCS, APC, PM and SOS strings: titles, links, the clipboard. One that never ends takes no more than its line. */
const STRINGS = /\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?/g;
/** CSI sequences that are no colours. */
const CONTROLS = /\x1b\[[0-?]*[ -/]*[@-ln-~]/g;
const PRIVATE_COLOURS = /\x1b\[[<-?][0-?]*m/g;
/** Two-character escapes, and what is left of cut ones. */
const SHORT = /\x1b(?:[ -/]*[0-Z\\^-~]|$)/g;
const OTHER = /[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;
const OVERSTRUCK = /[^\n\x08]\x08/g;
const COLOURS = /\x1b\[[\d;:]*m?/g;
/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: these are the characters it is about */

/** The text with nothing in it but words, line ends, tabs and colours. */
export function clean(text: string): string {
  if (!/[^\n\t -~\u00a0-\uffff]/.test(text)) return text;
  const words = text
    .replace(STRINGS, "")
    .replace(PRIVATE_COLOURS, "")
    .replace(CONTROLS, "")
    .replace(SHORT, "")
    .replace(OTHER, "")
    .replace(OVERSTRUCK, "")
    .replaceAll("\b", "");
  return words.includes("\r") ? words.split("\n").map(overwritten).join("\n") : words;
}

/** Words only: what copying gives. */
export function plain(text: string): string {
  return clean(text).replace(COLOURS, "");
}

/** A carriage return goes back to the start of the line: of a progress bar its last state is left. */
function overwritten(line: string): string {
  const shown = line.replace(/\r+$/, "");
  const place = shown.lastIndexOf("\r");
  return place < 0 ? shown : shown.slice(place + 1);
}
