/** Splits Markdown into top-level blocks. While streaming, only the end is parsed again. */
import { Lexer, type Token, type Tokens } from "marked";
import { closeIncomplete } from "./incomplete";

export interface Block {
  /** Offset in the text: stable while the text grows. */
  at: number;
  raw: string;
  token: Token;
  /** A code block without its closing fence. */
  open: boolean;
}

export interface Parsed {
  text: string;
  blocks: Block[];
}

const OPTIONS = { gfm: true, breaks: false };
/** Blocks at the end that later text may still change: a list continues after a blank line. */
const UNSURE = 2;

/** `before` is the result for a shorter text. */
export function parse(text: string, streaming: boolean, before?: Parsed): Parsed {
  const source = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
  const grown = streaming && before !== undefined && source.startsWith(before.text);
  const sure = grown ? before.blocks.slice(0, -UNSURE) : [];
  const last = sure.at(-1);
  const from = last ? last.at + last.raw.length : 0;
  const blocks = [...sure, ...lex(source.slice(from), from, streaming)];
  return { text: source, blocks };
}

function lex(source: string, from: number, streaming: boolean): Block[] {
  const blocks: Block[] = [];
  let at = from;
  const lexer = new Lexer(OPTIONS);
  const tokens = lexer.blockTokens(source, lexer.tokens);
  tokens.forEach((token, index) => {
    const open = streaming && index === tokens.length - 1 && isOpenFence(token);
    if (token.type !== "space" && token.type !== "def") blocks.push({ at, raw: token.raw, token, open });
    at += token.raw.length;
  });
  const last = blocks.at(-1);
  for (const queued of lexer.inlineQueue) lexer.inlineTokens(queued.src, queued.tokens);
  lexer.inlineQueue = [];
  if (streaming && last && last.token.type === "paragraph")
    last.token = completeParagraph(last.token as Tokens.Paragraph);
  return blocks;
}

/** Renders incomplete emphasis and links as if they were complete. */
function completeParagraph(token: Tokens.Paragraph): Token {
  const text = closeIncomplete(token.text);
  if (text === token.text) return token;
  return { ...token, text, tokens: Lexer.lexInline(text, OPTIONS) };
}

function isOpenFence(token: Token): boolean {
  if (token.type !== "code") return false;
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(token.raw)?.[1];
  if (!fence) return false;
  const lines = token.raw.trimEnd().split("\n");
  const end = lines.length > 1 ? (lines.at(-1) ?? "").trim() : "";
  return !(end.startsWith(fence) && end.replaceAll(fence[0] as string, "") === "");
}
