/** Terminal links: http(s) only, opened by a click with a modifier, without a referrer. */
import type { ILink, ILinkProvider, Terminal } from "@xterm/xterm";

const ADDRESS = /https?:\/\/[^\s"'<>`\\^{}|]+/g;
/** Punctuation after a URL. */
const TRAILING = /[.,;:!?)\]]+$/;

export interface Found {
  text: string;
  start: number;
}

export function linksIn(line: string): Found[] {
  return [...line.matchAll(ADDRESS)].map((match) => ({
    text: match[0].replace(TRAILING, ""),
    start: match.index,
  }));
}

/** Opens an allowed URL; returns whether it did. */
export function openLink(
  event: { ctrlKey: boolean; metaKey: boolean },
  address: string,
  open = (url: string) => void window.open(url, "_blank", "noopener,noreferrer"),
): boolean {
  if (!event.ctrlKey && !event.metaKey) return false;
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return false;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return false;
  open(url.href);
  return true;
}

export class LinkFinder implements ILinkProvider {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  provideLinks(row: number, found: (links: ILink[] | undefined) => void): void {
    const line = this.#terminal.buffer.active.getLine(row - 1)?.translateToString(true) ?? "";
    const links = linksIn(line).map(({ text, start }) => ({
      text,
      range: { start: { x: start + 1, y: row }, end: { x: start + text.length, y: row } },
      activate: (event: MouseEvent) => void openLink(event, text),
    }));
    found(links.length > 0 ? links : undefined);
  }
}
